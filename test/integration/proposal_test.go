// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// digestLine is the digest in what the command line shows of a plan that awaits approval.
var digestLine = regexp.MustCompile(`Digest +(sha256:[0-9a-f]{64})`)

// digestShown is the digest of the changes that a rollout awaits approval of, once all are known.
func digestShown(ctx context.Context, rem *v1alpha1.Remediation, as string) (digest, text string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		out, errs, code := evenkeel(ctx, "rollout", "get", rem.Name, "--as", as)
		g.Expect(code).To(Equal(0), errs)
		found := digestLine.FindStringSubmatch(out)
		g.Expect(found).To(HaveLen(2), out)
		digest, text = found[1], out
	}).Should(Succeed())
	return digest, text
}

var _ = Describe("What a plan in mode Manual would change", func() {
	var (
		namespace string
		approver  client.Client
	)
	planned := func(ctx context.Context) *v1alpha1.Remediation {
		GinkgoHelper()
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationManual)))
		return suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAwaitingApproval)
	}
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "proposal")
		approver = userWith(ctx, "cleo", "evenkeel-approver")
	})

	It("is shown to an approver who may read none of it, and only what was shown is written",
		func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMaps(namespace, 4)...)
			odd := fixture.ConfigMap(namespace, "odd")
			odd.Data["state"] = "worse"
			suite.Create(ctx, odd)
			err := approver.Get(ctx, client.ObjectKeyFromObject(odd), &corev1.ConfigMap{})
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			rem := planned(ctx)

			By("showing it, the targets with equal changes together")
			digest, text := digestShown(ctx, rem, "cleo")
			Expect(text).To(And(ContainSubstring(`/data/state: "bad" → "good"`),
				MatchRegexp(`  4 ConfigMap: .* and 1 more`), ContainSubstring(`/data/state: "worse" → "good"`),
				ContainSubstring("  1 ConfigMap: "+namespace+"/odd")))
			explained, errs, code := evenkeel(ctx, "explain", "configmap", "odd", "-n", namespace)
			Expect(explained).To(ContainSubstring(`/data/state: "worse" → "good"`), "%s %d", errs, code)
			Expect(patchedObjects(namespace)).To(BeEmpty())

			By("taking no yes to other changes")
			other := "sha256:" + "0000000000000000000000000000000000000000000000000000000000000000"
			_, errs, code = evenkeel(ctx, "rollout", "approve", rem.Name, "--as", "cleo", "--digest", other)
			Expect(code).NotTo(Equal(0))
			Expect(errs).To(ContainSubstring("review them before you answer"))
			for given, why := range map[string]string{
				other:    "isn't the digest of the plan's changes, which is " + digest,
				"latest": "spec.approval.proposalDigest in body should match"} {
				Expect(approve(ctx, approver, rem, func(a *v1alpha1.PlanApproval) { a.ProposalDigest = given })).To(
					MatchError(ContainSubstring(why)))
			}
			Expect(suite.Get(ctx, rem)).To(Succeed())
			Expect(rem.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))

			By("writing what was approved, and not what has become of another object since")
			rig.Update(ctx, suite.API, odd, func() { odd.Data["state"] = "worst" })
			out, errs, code := evenkeel(ctx, "rollout", "approve", rem.Name, "--as", "cleo", "--digest", digest,
				"--comment", "change 4711")
			Expect(code).To(Equal(0), errs)
			Expect(out).To(And(ContainSubstring(digest), ContainSubstring(`/data/state: "bad" → "good"`),
				ContainSubstring("remediation "+rem.Name+" approved by cleo")))
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, rem)).To(Succeed())
				g.Expect(rem.Status.Phase).To(Equal(v1alpha1.PhaseSucceeded), rem.Status.Message)
			}).Should(Succeed())
			Expect(rem.Status.Counts.Done).To(BeEquivalentTo(4))
			skipped := suite.RecordOf(ctx, rem, "odd")
			Expect(string(skipped.State) + " " + skipped.Reason).To(
				Equal(string(v1alpha1.TargetSkipped) + " " + v1alpha1.ReasonChangedSinceApproval))
			Expect(skipped.Message).To(ContainSubstring(`/data/state: "worst" → "good"`))
			Expect(states(ctx, namespace)).To(HaveKeyWithValue("odd", "worst"))

			By("asking anew for what wasn't written")
			next := &v1alpha1.Remediation{}
			Eventually(ctx, func(g Gomega) {
				plans := suite.Plans(ctx, namespace)
				g.Expect(len(plans)).To(BeNumerically(">=", 2))
				next = plans[len(plans)-1].DeepCopy()
				g.Expect(next.Name).NotTo(Equal(rem.Name))
				g.Expect(next.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))
			}).Should(Succeed())
			later, text := digestShown(ctx, next, "cleo")
			Expect(later).NotTo(Equal(digest))
			Expect(text).To(ContainSubstring(`/data/state: "worst" → "good"`))
			Expect(approve(ctx, approver, next)).To(Succeed())
			Eventually(ctx, func() map[string]string { return states(ctx, namespace) }).Should(
				HaveKeyWithValue("odd", "good"))
		})

	It("hides values of kinds that the role view doesn't read", func(ctx context.Context) {
		for to, verbs := range map[string][]string{"reader": {"get", "list", "watch"}, "writer": {"get", "patch"}} {
			grant(ctx, to, namespace+"-"+to,
				rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs})
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "key",
			Labels: fixture.TargetLabels()}, StringData: map[string]string{"token": "hunter2-of-the-shop"}}
		secret.Labels["owner"] = "nobody-knows"
		suite.Create(ctx, secret)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, `package fixture.owner

import rego.v1

bad if input.object.metadata.labels.owner != "shop"

deny contains {"msg": "owner must be shop", "path": "/metadata/labels/owner"} if bad

remediation contains {"action": "patch", "ops": [
	{"op": "replace", "path": "/metadata/labels/owner", "value": "shop"},
]} if bad
`, fixture.Kinds("", "Secret"), fixture.Remediated(v1alpha1.RemediationManual)))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAwaitingApproval)
		_, text := digestShown(ctx, rem, "cleo")
		Expect(text).To(ContainSubstring("/metadata/labels/owner: changed (values of this kind aren't shown)"))
		raw := suite.RecordOf(ctx, rem, "key").Proposal
		for _, hidden := range []string{"hunter2", "nobody-knows"} {
			Expect(text).NotTo(ContainSubstring(hidden))
			Expect(raw).NotTo(ContainSubstring(hidden))
		}
		_, err := answer(ctx, approver, rem, v1alpha1.DecisionReject)
		Expect(err).NotTo(HaveOccurred())
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAborted)
	})
})
