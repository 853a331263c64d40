// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/gitserver"
	"evenkeel.dev/evenkeel/test/rig"
)

// sourcePolicies are so many policy directories.
func sourcePolicies(name, namespace string, count int) map[string]string {
	files := map[string]string{}
	for i := range count {
		files = rig.Files(files, rig.PolicyFiles(fmt.Sprintf("%s-%d", name, i), namespace, fmt.Sprintf("bad-%d", i)))
	}
	return files
}

// held are the policies that a source owns.
func held(ctx context.Context, source string) []v1alpha1.ClusterRegoPolicy {
	GinkgoHelper()
	list := &v1alpha1.ClusterRegoPolicyList{}
	Expect(suite.API.List(ctx, list,
		client.MatchingLabels{v1alpha1.LabelSourceName: source, v1alpha1.LabelSourceNamespace: rig.SystemNamespace})).
		To(Succeed())
	return list.Items
}

// follow runs the command that a condition gives to accept a revision.
func follow(ctx context.Context, message string) {
	GinkgoHelper()
	_, command, found := strings.Cut(message, "kubectl ")
	Expect(found).To(BeTrue(), message)
	command, _, _ = strings.Cut(command, ";")
	_, _, err := suite.Kubectl(ctx, "", strings.Fields(strings.Split(command, " (")[0])...)
	Expect(err).NotTo(HaveOccurred())
}

var _ = Describe("Whoever can push to a source's repository", func() {
	It("can't roll policies back by moving the branch to an old commit, unless a person accepts that very one",
		func(ctx context.Context) {
			attempt("move the branch of a PolicySource back to an old commit by force")
			ns := suite.Namespace(ctx, "rollback")
			source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "ugly"))
			source.AwaitReason(ctx, v1alpha1.ReasonApplied)
			old := source.Git("rev-parse", "HEAD")
			newer := source.Replace(rig.PolicyFiles(ns, ns, "bad"))
			source.Ask(ctx)
			source.AwaitCommit(ctx, newer)

			source.Push(old + ":refs/heads/main")
			source.Ask(ctx)
			refused := source.AwaitReason(ctx, v1alpha1.ReasonNotDescendant)
			Expect(refused.Message).To(
				And(ContainSubstring(old), ContainSubstring("Revision "+source.Status.Revision+" stays in force")))
			Expect(source.Status.Revision).To(HaveSuffix(newer))
			Expect(source.Status.AttemptedRevision).To(HaveSuffix(old))
			suite.AwaitEvent(ctx, "PolicySourceRefused", ns, ContainSubstring("doesn't descend"))
			awaitRefusal(ctx, fixture.ConfigMap(ns, "one"), ContainSubstring("state must not be bad"))

			By("accepting that one, by the command that the condition gives")
			follow(ctx, refused.Message)
			source.AwaitCommit(ctx, old)
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, source.PolicySource)).To(Succeed())
				g.Expect(source.Annotations).NotTo(HaveKey(v1alpha1.AnnotationAcceptRevision), "it is good for once")
			}).Should(Succeed())
			source.Push(newer + ":refs/heads/main")
			source.Ask(ctx)
			source.AwaitCommit(ctx, newer)
			source.Push(old + ":refs/heads/main")
			source.Ask(ctx)
			source.AwaitReason(ctx, v1alpha1.ReasonNotDescendant)
		})

	It("can't roll policies back by a signed tag under another name", func(ctx context.Context) {
		attempt("push the signed tag v1.0.0 as v9.9.9 to a source that follows the newest version")
		ns := suite.Namespace(ctx, "tagname")
		key := gitserver.NewKey(GinkgoT(), "")
		signers := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: ns + "-signers"},
			Data: map[string][]byte{"keys": key.Public}}
		suite.Create(ctx, signers)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, signers)).To(Succeed()) })
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "ugly"), func(src *v1alpha1.PolicySource) {
			src.Spec.Ref = &v1alpha1.SourceReference{Semver: ">=1"}
			src.Spec.Verify = &v1alpha1.SourceVerification{SecretRef: v1alpha1.SecretReference{Name: signers.Name}}
			// Even where any history is taken.
			src.Spec.History = v1alpha1.HistoryAny
		})
		source.SignWith(key)
		source.Git("tag", "-s", "-m", "one", "v1.0.0")
		newer := source.Replace(rig.PolicyFiles(ns, ns, "bad"))
		source.Git("tag", "-s", "-m", "two", "v2.0.0")
		source.Push("--tags")
		source.Ask(ctx)
		source.AwaitCommit(ctx, newer)

		source.Push(source.Git("rev-parse", "v1.0.0") + ":refs/tags/v9.9.9")
		source.Ask(ctx)
		Expect(source.AwaitReason(ctx, v1alpha1.ReasonSignatureInvalid).Message).To(
			ContainSubstring("v9.9.9 leads to a tag that was made as v1.0.0"))
		Expect(source.Status.Revision).To(HaveSuffix(newer))
	})

	It("can't remove most policies by one commit, nor can a changed path, unless a person accepts it",
		func(ctx context.Context) {
			attempt("remove most files of a source's repository by one commit")
			ns := suite.Namespace(ctx, "removed")
			source := suite.NewSource(ctx, ns, sourcePolicies(ns, ns, 5))
			source.AwaitReason(ctx, v1alpha1.ReasonApplied)

			commit := source.Replace(sourcePolicies(ns, ns, 1))
			source.Ask(ctx)
			refused := source.AwaitReason(ctx, v1alpha1.ReasonTooManyRemoved)
			Expect(refused.Message).To(ContainSubstring("would remove 4 of 5 policies"))
			suite.AwaitEvent(ctx, "PolicySourceRefused", ns, ContainSubstring("would remove 4 of 5"))
			Expect(held(ctx, ns)).To(HaveLen(5))
			follow(ctx, refused.Message)
			source.AwaitCommit(ctx, commit)
			Expect(held(ctx, ns)).To(HaveLen(1))

			By("pointing the path elsewhere")
			elsewhere := map[string]string{}
			for name, text := range sourcePolicies(ns+"-x", ns, 1) {
				elsewhere[strings.Replace(name, "policies/", "other/", 1)] = text
			}
			commit = source.Replace(rig.Files(sourcePolicies(ns, ns, 5), elsewhere))
			source.Ask(ctx)
			source.AwaitCommit(ctx, commit)
			source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.Path = "other" })
			refused = source.AwaitReason(ctx, v1alpha1.ReasonTooManyRemoved)
			Expect(held(ctx, ns)).To(HaveLen(5))
			follow(ctx, refused.Message)
			source.AwaitReason(ctx, v1alpha1.ReasonApplied)
			Expect(held(ctx, ns)).To(HaveLen(1))
		})
})

var _ = Describe("A source that somebody deletes", func() {
	It("leaves its policies in force, for a source of its name to take over again", func(ctx context.Context) {
		attempt("delete a PolicySource, so that its policies go with it")
		ns := suite.Namespace(ctx, "orphan")
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"), func(src *v1alpha1.PolicySource) {
			src.Spec.DeletionPolicy = ""
		})
		suite.CleanUp(ns)
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		Expect(source.Spec.DeletionPolicy).To(BeEmpty(), "nobody has said what becomes of them: Orphan is the default")
		suite.RemoveSource(ctx, source.PolicySource)
		suite.AwaitEvent(ctx, "PolicySourceDeleted", ns,
			ContainSubstring("1 policy stays in force without a source (spec.deletionPolicy: Orphan): "+ns))
		Expect(held(ctx, ns)).To(BeEmpty())
		policy := suite.Policy(ctx, ns)
		awaitRefusal(ctx, fixture.ConfigMap(ns, "one"), ContainSubstring("state must not be bad"))

		again := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: ns},
			Spec: source.Spec}
		again.Spec.DeletionPolicy = v1alpha1.DeletionDelete
		suite.Create(ctx, again)
		Eventually(ctx, func(g Gomega) { g.Expect(held(ctx, ns)).To(HaveLen(1)) }).Should(Succeed())
		Expect(suite.Policy(ctx, ns).UID).To(Equal(policy.UID))
		suite.RemoveSource(ctx, again)
		Expect(apierrors.IsNotFound(suite.Get(ctx, policy))).To(BeTrue())
	})
})
