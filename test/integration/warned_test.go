// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("Whoever is on call is warned", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "warned") })
	// warnedOf are the warnings that one request gives.
	warnedOf := func(do func(client.Client) error) []string {
		GinkgoHelper()
		api, warned := warningClient()
		Expect(do(api)).To(Succeed())
		return warned()
	}
	const override = "in an emergency: evenkeel policy override "

	It("that a change of a source's policy won't last, and neither will its deletion", func(ctx context.Context) {
		source := suite.NewSource(ctx, namespace, rig.PolicyFiles(namespace, namespace, "bad"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		key := rig.SystemNamespace + "/" + namespace
		before := suite.Policy(ctx, namespace)
		soften := func(api client.Client) error {
			p := suite.Policy(ctx, namespace)
			was := p.DeepCopy()
			p.Spec.Admission.Action = v1alpha1.AdmissionWarn
			return api.Patch(ctx, p, client.MergeFrom(was))
		}
		Expect(warnedOf(soften)).To(ConsistOf(
			ContainSubstring("this change won't last: PolicySource "+key+" keeps policy "+namespace),
			ContainSubstring(override+namespace), ContainSubstring("spec.overrides of PolicySource "+key)))
		Eventually(ctx, func() v1alpha1.AdmissionAction {
			return suite.Policy(ctx, namespace).Spec.Admission.Action
		}).Should(Equal(v1alpha1.AdmissionDeny), "it said so")

		By("what changes nothing that it keeps")
		Expect(warnedOf(func(api client.Client) error {
			p := suite.Policy(ctx, namespace)
			was := p.DeepCopy()
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, "example.com/seen", "yes")
			return api.Patch(ctx, p, client.MergeFrom(was))
		})).To(BeEmpty())

		By("its deletion")
		Expect(warnedOf(func(api client.Client) error { return api.Delete(ctx, suite.Policy(ctx, namespace)) })).To(
			ConsistOf(ContainSubstring("this deletion won't last: PolicySource "+key+" keeps policy "+namespace),
				ContainSubstring(override+namespace), ContainSubstring("spec.overrides of PolicySource "+key)))
		Eventually(ctx, func(g Gomega) {
			anew := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			g.Expect(suite.Get(ctx, anew)).To(Succeed())
			g.Expect(anew.UID).NotTo(Equal(before.UID))
		}).Should(Succeed(), "it said so")
	})

	It("of neither where nobody keeps the policy", func(ctx context.Context) {
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState))
		Expect(warnedOf(func(api client.Client) error {
			p := suite.Policy(ctx, namespace)
			was := p.DeepCopy()
			p.Spec.Description = "Another one."
			return api.Patch(ctx, p, client.MergeFrom(was))
		})).To(BeEmpty())
		Expect(warnedOf(func(api client.Client) error { return api.Delete(ctx, suite.Policy(ctx, namespace)) })).To(
			BeEmpty())
	})

	// nightly is a window that is closed now, and only opens after the spec.
	nightly := func(hours int) func(*fixture.Rollout) {
		opens := time.Now().UTC().Add(time.Duration(hours) * time.Hour)
		return func(s *fixture.Rollout) {
			s.Windows = []v1alpha1.MaintenanceWindow{{Schedule: opens.Format("4 15 * * *"),
				Duration: metav1.Duration{Duration: time.Hour}}}
		}
	}
	keeps := func(plan string) gomegatypes.GomegaMatcher {
		return ConsistOf("windows: 1 plan in progress keeps the windows made with (" + plan + "); only later plans " +
			"have the new ones; to stop one: evenkeel rollout pause|abort NAME")
	}

	It("what becomes of plans at work when a policy's windows are changed", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, nightly(5))))
		rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonOutsideWindow)
		later := namespace + "-later"
		DeferCleanup(func(ctx context.Context) { removeStrategy(ctx, later) })
		suite.Create(ctx, fixture.Strategy(later, nightly(7)))
		change := func(change func(*v1alpha1.ClusterRegoPolicy)) []string {
			GinkgoHelper()
			return warnedOf(func(api client.Client) error {
				p := suite.Policy(ctx, namespace)
				was := p.DeepCopy()
				change(p)
				return api.Patch(ctx, p, client.MergeFrom(was))
			})
		}
		Expect(change(func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Remediation.StrategyRef.Name = later
		})).To(keeps(rem.Name))
		Expect(change(func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Description = "Another one." })).To(BeEmpty())
	})

	It("what becomes of plans at work when the windows of a strategy are changed", func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) { removeStrategy(ctx, namespace) })
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
		suite.Create(ctx, fixture.Strategy(namespace, nightly(5)))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Following(v1alpha1.RemediationAutomatic, namespace)))
		rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonOutsideWindow)
		Expect(warnedOf(func(api client.Client) error {
			s := &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			Expect(suite.Get(ctx, s)).To(Succeed())
			was := s.DeepCopy()
			s.Spec.Windows = fixture.Strategy(namespace, nightly(7)).Spec.Windows
			return api.Patch(ctx, s, client.MergeFrom(was))
		})).To(keeps(rem.Name))
	})
})
