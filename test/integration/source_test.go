// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// state sets what policies of sources judge.
func state(value string) func(client.Object) {
	return func(o client.Object) { o.(*corev1.ConfigMap).Data["state"] = value }
}

// sourced are the names of a source's policies in the cluster.
func sourced(ctx context.Context, source string) []string {
	GinkgoHelper()
	list := &v1alpha1.ClusterRegoPolicyList{}
	Expect(suite.API.List(ctx, list,
		client.MatchingLabels{v1alpha1.LabelSourceName: source, v1alpha1.LabelSourceNamespace: rig.SystemNamespace})).
		To(Succeed())
	names := []string{}
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	return names
}

// policyWrites counts the successful writes of policies by the manager since a
// mark, their status apart.
func policyWrites(since int) int {
	count := 0
	for _, w := range manager.Proxy.Writes()[since:] {
		if w.Resource == "clusterregopolicies" && w.Subresource == "" && w.Succeeded() {
			count++
		}
	}
	return count
}

var _ = Describe("A policy source", func() {
	It("brings what is pushed into force, changes it, and removes what leaves", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srclife")
		first, second := ns+"-a", ns+"-b"
		source := suite.NewSource(ctx, ns,
			rig.Files(rig.PolicyFiles(first, ns, "bad"), rig.PolicyFiles(second, ns, "worse")))
		source.Await(ctx, func(g Gomega, src *v1alpha1.PolicySource) {
			g.Expect(rig.ReadyOf(src).Status).To(Equal(metav1.ConditionTrue), rig.ReadyOf(src).Message)
			g.Expect(src.Status.Inventory).To(Equal([]string{first, second}))
			g.Expect(src.Finalizers).To(ContainElement(v1alpha1.SourceFinalizer))
		})
		policy := suite.Policy(ctx, first)
		Expect(policy.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationSourcePath, "policies/"+first))
		Expect(policy.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationSourceRevision, source.Status.Revision))
		awaitRefusal(ctx, fixture.ConfigMap(ns, "one"), ContainSubstring("state must not be bad"))

		By("looking again at the same revision")
		mark := len(manager.Proxy.Writes())
		source.Ask(ctx)
		Expect(policyWrites(mark)).To(BeZero())

		By("changing one policy")
		commit := source.Replace(rig.Files(rig.PolicyFiles(first, ns, "ugly"), rig.PolicyFiles(second, ns, "worse")))
		mark = len(manager.Proxy.Writes())
		source.Ask(ctx)
		source.AwaitCommit(ctx, commit)
		Expect(policyWrites(mark)).To(Equal(1))
		awaitRefusal(ctx, fixture.ConfigMap(ns, "one", state("ugly")), ContainSubstring("state must not be ugly"))

		By("removing the other")
		commit = source.Replace(rig.PolicyFiles(first, ns, "ugly"))
		source.Ask(ctx)
		source.AwaitCommit(ctx, commit)
		Expect(sourced(ctx, ns)).To(ConsistOf(first))
		suite.AwaitEvent(ctx, "PolicySourceApplied", ns, ContainSubstring("1 removed: "+second))

		By("rewriting the history, where any is taken")
		source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.History = v1alpha1.HistoryAny })
		commit = source.Rewrite(rig.PolicyFiles(second, ns, "bad"))
		source.Ask(ctx)
		source.AwaitCommit(ctx, commit)
		Expect(sourced(ctx, ns)).To(ConsistOf(second))
	})

	It("carries the strategies next to its policies, and writes over none of others", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcstrategy")
		strategyFile := func(name, targets string) map[string]string {
			return map[string]string{"policies/strategies.yaml": "apiVersion: evenkeel.dev/v1alpha1\n" +
				"kind: RemediationStrategy\nmetadata: {name: " + name + "}\nspec:\n" +
				"  steps: [{targets: " + targets + "}]\n"}
		}
		read := func(name string) (*v1alpha1.RemediationStrategy, error) {
			s := &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: name}}
			return s, suite.Get(ctx, s)
		}
		policies := rig.PolicyFiles(ns+"-a", ns, "bad")
		source := suite.NewSource(ctx, ns, rig.Files(policies, strategyFile(ns, "1")))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		s, err := read(ns)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Spec.Steps[0].Targets.IntValue()).To(Equal(1))
		Expect(s.Labels).To(HaveKeyWithValue(v1alpha1.LabelSourceName, ns))
		Expect(s.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationSourcePath, "policies"))

		By("restoring what somebody has edited")
		suite.UpdateStrategy(ctx, ns, func(spec *v1alpha1.RemediationStrategySpec) {
			spec.MaxTargets = ptr.To[int32](3)
		})
		Eventually(ctx, func(g Gomega) {
			s, err := read(ns)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.Spec.MaxTargets).To(BeNil())
		}).Should(Succeed())

		By("refusing one that isn't its own, and the administrator's default")
		theirs := ns + "-theirs"
		DeferCleanup(func(ctx context.Context) { removeStrategy(ctx, theirs) })
		suite.Create(ctx, fixture.Strategy(theirs))
		source.Replace(rig.Files(policies, strategyFile(theirs, "5")))
		source.Ask(ctx)
		source.AwaitReason(ctx, v1alpha1.ReasonPolicyConflict)
		source.Replace(rig.Files(policies, strategyFile("default", "5")))
		source.Ask(ctx)
		source.AwaitReason(ctx, v1alpha1.ReasonRefused)

		By("removing the one that leaves the repository")
		commit := source.Replace(policies)
		source.Ask(ctx)
		source.AwaitCommit(ctx, commit)
		_, err = read(ns)
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
		_, err = read(theirs)
		Expect(err).NotTo(HaveOccurred())
	})

	It("keeps the last good revision when a file is wrong, and says where", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcbad")
		good, other := ns+"-a", ns+"-b"
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(good, ns, "bad"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		inForce := source.Status.Revision

		broken := rig.PolicyFiles(other, ns, "bad", "colour: red")
		commit := source.Replace(rig.Files(rig.PolicyFiles(good, ns, "ugly"), broken))
		source.Ask(ctx)
		why := source.AwaitReason(ctx, v1alpha1.ReasonNotCompiling)
		Expect(why.Message).To(
			SatisfyAll(ContainSubstring("policies/%s/%s.rego:", other, other), ContainSubstring("colour"),
				ContainSubstring(inForce)))
		Expect(source.Status.AttemptedRevision).To(HaveSuffix(commit))
		Expect(source.Status.Revision).To(Equal(inForce))
		Expect(source.Status.Problems).To(HaveLen(1))
		Expect(source.Status.Problems[0].File).To(Equal("policies/" + other + "/" + other + ".rego"))
		Expect(source.Status.Problems[0].Line).To(BeNumerically(">", 1))
		suite.AwaitEvent(ctx, "PolicySourceNotCompiling", ns, ContainSubstring("colour"))
		Expect(sourced(ctx, ns)).To(ConsistOf(good))
		awaitRefusal(ctx, fixture.ConfigMap(ns, "one"), ContainSubstring("state must not be bad"))

		By("editing the policy in force meanwhile")
		edit(ctx, good, func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Action = v1alpha1.AdmissionAudit })
		Eventually(ctx, func() v1alpha1.AdmissionAction {
			return suite.Policy(ctx, good).Spec.Admission.Action
		}).Should(Equal(v1alpha1.AdmissionDeny))

		By("correcting the file")
		commit = source.Replace(rig.Files(rig.PolicyFiles(good, ns, "ugly"), rig.PolicyFiles(other, ns, "bad")))
		source.Ask(ctx)
		source.AwaitCommit(ctx, commit)
		Expect(source.Status.Problems).To(BeEmpty())
		Expect(sourced(ctx, ns)).To(ConsistOf(good, other))
	})

	It("never takes an empty repository for the wish to remove everything, unless told", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcempty")
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		commit := source.Replace(map[string]string{"README.md": "nothing here"})
		source.Ask(ctx)
		Expect(source.AwaitReason(ctx, v1alpha1.ReasonTooManyRemoved).Message).To(
			ContainSubstring("spec.maxRemoved: 100%"))
		Expect(sourced(ctx, ns)).To(ConsistOf(ns))
		source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.MaxRemoved = ptr.To(intstr.FromString("100%")) })
		source.AwaitCommit(ctx, commit)
		Expect(sourced(ctx, ns)).To(BeEmpty())
	})

	It("restores what others change of its policies, unless it is suspended", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcdrift")
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		edit(ctx, ns, func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Exempt.Users = []string{"mallory"} })
		Eventually(ctx, func() []string { return suite.Policy(ctx, ns).Spec.Admission.Exempt.Users }).Should(BeEmpty())
		suite.AwaitEvent(ctx, "PolicyRestored", ns, ContainSubstring("change it in the repository"))
		Expect(suite.API.Delete(ctx, suite.Policy(ctx, ns))).To(Succeed())
		Eventually(ctx, func() error {
			return suite.Get(ctx, &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		}).Should(Succeed())
		edit(ctx, ns, func(p *v1alpha1.ClusterRegoPolicy) { delete(p.Labels, v1alpha1.LabelSourceName) })
		Eventually(ctx, func() []string { return sourced(ctx, ns) }).Should(ConsistOf(ns))

		source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.Suspend = true })
		Expect(source.AwaitReason(ctx, v1alpha1.ReasonSuspended).Status).To(Equal(metav1.ConditionTrue))
		edit(ctx, ns, func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Action = v1alpha1.AdmissionWarn })
		Consistently(ctx, func() v1alpha1.AdmissionAction {
			return suite.Policy(ctx, ns).Spec.Admission.Action
		}, "1s").Should(Equal(v1alpha1.AdmissionWarn))
		source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.Suspend = false })
		Eventually(ctx, func() v1alpha1.AdmissionAction {
			return suite.Policy(ctx, ns).Spec.Admission.Action
		}).Should(Equal(v1alpha1.AdmissionDeny))
	})

	DescribeTable("when it is deleted",
		func(ctx context.Context, change func(*v1alpha1.PolicySource), stays bool, says string) {
			ns := suite.Namespace(ctx, "srcgone")
			source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"))
			suite.CleanUp(ns)
			source.AwaitReason(ctx, v1alpha1.ReasonApplied)
			source.Change(ctx, change)
			source.Await(ctx, func(Gomega, *v1alpha1.PolicySource) {})
			suite.RemoveSource(ctx, source.PolicySource)
			err := suite.Get(ctx, &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: ns}})
			Expect(apierrors.IsNotFound(err)).To(Equal(!stays))
			suite.AwaitEvent(ctx, "PolicySourceDeleted", ns, ContainSubstring(says))
		},
		Entry("its policies go with it, where it says so", func(*v1alpha1.PolicySource) {}, false,
			"no longer enforced"),
		Entry("they stay with prune: false", func(src *v1alpha1.PolicySource) {
			src.Spec.Prune = ptr.To(false)
		}, true, "1 policy stays in force"),
		Entry("they stay while it is suspended", func(src *v1alpha1.PolicySource) {
			src.Spec.Suspend = true
		}, true, "1 policy stays in force"),
	)
})

// edit changes a policy as a person would.
func edit(ctx context.Context, name string, change func(*v1alpha1.ClusterRegoPolicy)) {
	GinkgoHelper()
	p := suite.Policy(ctx, name)
	before := p.DeepCopy()
	change(p)
	Expect(suite.API.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
}
