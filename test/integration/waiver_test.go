// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// waiver makes a waiver for an hour from the policy named like the namespace,
// for objects whose name begins with "legacy".
func waiver(namespace, policy string) *v1alpha1.Waiver {
	return &v1alpha1.Waiver{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "waives-" + policy},
		Spec: v1alpha1.WaiverSpec{
			Match: v1alpha1.WaiverMatch{Names: []string{"legacy*"}},
			WaiverTerms: v1alpha1.WaiverTerms{
				Policies: []string{policy}, Reason: "moves next quarter",
				ExpirationTime: metav1.NewTime(time.Now().Add(time.Hour)),
			},
		},
	}
}

// endSoon lets a waiver expire in a few seconds, and returns when.
func endSoon(ctx context.Context, e v1alpha1.AnyWaiver) time.Time {
	GinkgoHelper()
	rig.Update(ctx, suite.API, e, func() {
		// The API keeps whole seconds.
		e.Terms().ExpirationTime = metav1.NewTime(time.Now().Add(4 * time.Second).Truncate(time.Second))
	})
	return e.Terms().ExpirationTime.Time
}

// awaitActive waits until a waiver is Active, or not, for a reason.
func awaitActive(ctx context.Context, w v1alpha1.AnyWaiver, reason string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, w)).To(Succeed())
		generation, conditions := w.Observed()
		g.Expect(*generation).To(Equal(w.GetGeneration()))
		active := meta.FindStatusCondition(*conditions, v1alpha1.ConditionActive)
		g.Expect(active).NotTo(BeNil())
		g.Expect(active.Reason).To(Equal(reason))
	}).Should(Succeed())
}

// figures waits until a finished scan shows so many violating and waived objects.
func figures(ctx context.Context, policy string, violating, waived int) {
	GinkgoHelper()
	suite.AwaitScan(ctx, policy, func(g Gomega, s *v1alpha1.ScanStatus) {
		g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
		g.Expect(s.Violating).To(BeEquivalentTo(violating))
		g.Expect(s.Waived).To(BeEquivalentTo(waived))
	})
}

var _ = Describe("A waiver", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "waiver") })

	It("lets objects be admitted with a warning and leaves them unfixed; at its expiry they are fixed",
		func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMap(namespace, "legacy-old"))
			e := waiver(namespace, namespace)
			suite.Create(ctx, e)
			awaitActive(ctx, e, v1alpha1.ReasonPolicyNotFound)
			suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Enforced(v1alpha1.AdmissionDeny), fixture.Remediated(v1alpha1.RemediationAutomatic)))
			awaitActive(ctx, e, v1alpha1.ReasonAccepted)
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "other"), ContainSubstring("state must be good"))

			api, warned := warningClient()
			Expect(api.Create(ctx, fixture.ConfigMap(namespace, "legacy-new"))).To(Succeed())
			Expect(warned()).To(ContainElement(And(ContainSubstring("state must be good"),
				ContainSubstring("waived by Waiver "+namespace+"/"+e.Name+" until "))))
			figures(ctx, namespace, 0, 2)
			Expect(suite.Plans(ctx, namespace)).To(BeEmpty())
			Expect(patchedObjects(namespace)).To(BeEmpty())

			expiry := endSoon(ctx, e)
			rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 2}))
			Expect(rem.CreationTimestamp.Time).To(BeTemporally(">=", expiry))
			Expect(rem.CreationTimestamp.Time).To(BeTemporally("<=", expiry.Add(25*time.Second)))
			figures(ctx, namespace, 0, 0)
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "legacy-late"), ContainSubstring("state must be good"))
			awaitActive(ctx, e, v1alpha1.ReasonExpired)
			suite.AwaitEvent(ctx, "WaiverExpired", e.Name, ContainSubstring(e.Spec.Reason))
			Consistently(ctx, func() []string {
				return suite.Events(ctx, "WaiverExpired", e.Name)
			}, "2s").Should(HaveLen(1))
		})

	It("is counted apart, and its objects count again when it expires, or is deleted", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMap(namespace, "legacy"), fixture.ConfigMap(namespace, "other"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState))
		figures(ctx, namespace, 2, 0)
		e := waiver(namespace, namespace)
		suite.Create(ctx, e)
		figures(ctx, namespace, 1, 1)
		expiry := endSoon(ctx, e)
		figures(ctx, namespace, 2, 0)
		Expect(time.Now()).To(And(BeTemporally(">=", expiry), BeTemporally("<=", expiry.Add(25*time.Second))))

		again := waiver(namespace, namespace)
		again.Name += "-again"
		suite.Create(ctx, again)
		figures(ctx, namespace, 1, 1)
		Expect(suite.API.Delete(ctx, again)).To(Succeed())
		figures(ctx, namespace, 2, 0)
	})

	It("covers no other namespace than its own, which a ClusterWaiver does", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMap(namespace, "legacy"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState))
		figures(ctx, namespace, 1, 0)
		elsewhere := waiver(suite.Namespace(ctx, "waiver-elsewhere"), namespace)
		suite.Create(ctx, elsewhere)
		awaitActive(ctx, elsewhere, v1alpha1.ReasonAccepted)
		figures(ctx, namespace, 1, 0)

		wide := &v1alpha1.ClusterWaiver{ObjectMeta: metav1.ObjectMeta{Name: "waives-" + namespace},
			Spec: v1alpha1.ClusterWaiverSpec{
				WaiverTerms: elsewhere.Spec.WaiverTerms,
				Match:       v1alpha1.ClusterWaiverMatch{Namespaces: []string{namespace}}}}
		suite.Create(ctx, wide)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, wide)).To(Succeed()) })
		figures(ctx, namespace, 0, 1)
		awaitActive(ctx, wide, v1alpha1.ReasonAccepted)
		endSoon(ctx, wide)
		figures(ctx, namespace, 1, 0)
		suite.AwaitEvent(ctx, "WaiverExpired", wide.Name, ContainSubstring(wide.Spec.Reason))
	})

	It("is refused when its time has passed", func(ctx context.Context) {
		e := waiver(namespace, namespace)
		e.Spec.ExpirationTime = metav1.NewTime(time.Now().Add(-time.Minute))
		Expect(suite.API.Create(ctx, e)).To(
			MatchError(And(ContainSubstring("can't be accepted"), ContainSubstring("spec.expirationTime"))))
	})
})
