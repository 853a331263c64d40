// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// soaking sets how long waves soak, canary included.
func soaking(d time.Duration) func(*fixture.Rollout) {
	return fixture.Soak(d)
}

// canarySoaking has the canary alone soak: what people say meanwhile comes before the waves.
func canarySoaking(d time.Duration) func(*fixture.Rollout) {
	return fixture.CanarySoak(d)
}

// say writes a person's word into a plan's spec.
func say(ctx context.Context, rem *v1alpha1.Remediation, spec string) {
	GinkgoHelper()
	word := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":%s}`, spec))
	Expect(suite.API.Patch(ctx, rem.DeepCopy(), word)).To(Succeed())
}

// awaitReason waits until the policy's plan is in a phase for a reason.
func awaitReason(ctx context.Context, policy string, phase v1alpha1.RemediationPhase,
	reason string) *v1alpha1.Remediation {
	GinkgoHelper()
	var rem *v1alpha1.Remediation
	Eventually(ctx, func(g Gomega) {
		rem = suite.AwaitPhase(ctx, policy, phase)
		g.Expect(rem.Status.Reason).To(Equal(reason), rem.Status.Message)
	}).Should(Succeed())
	return rem
}

// states are the values of the ConfigMaps of tests that a fix changes, by name.
func states(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	list := &corev1.ConfigMapList{}
	Expect(suite.API.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(fixture.TargetLabels()))).To(
		Succeed())
	out := map[string]string{}
	for _, c := range list.Items {
		out[c.Name] = c.Data["state"]
	}
	return out
}

var _ = Describe("What people say of a rollout", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "people")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 4)...)
	})
	fixing := func(strategy ...func(*fixture.Rollout)) *v1alpha1.ClusterRegoPolicy {
		return fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, strategy...))
	}

	It("a paused plan begins nothing more, keeps what is verified, and goes on when it is resumed",
		func(ctx context.Context) {
			suite.CreatePolicy(ctx, fixing(soaking(6*time.Second)))
			rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSoaking)
			say(ctx, rem, `{"desiredState":"Paused"}`)
			rem = awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonPaused)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1, Pending: 3}))
			Expect(rem.Status.HeldTime).NotTo(BeNil())
			Expect(patchedObjects(namespace)).To(HaveLen(1))
			say(ctx, rem, `{"desiredState":"Running"}`)
			rem = suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 4}))
			Expect(rem.Status.HeldTime).To(BeNil())
		})

	It("an aborted plan is undone wave and all, counts as no failure, and isn't made again without a word",
		func(ctx context.Context) {
			before := states(ctx, namespace)
			policy := fixing(soaking(6*time.Second), fixture.Waves("50%", "100%"),
				func(s *fixture.Rollout) { s.RollbackScope = v1alpha1.RollbackAll })
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, func(g Gomega) {
				rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSoaking)
				g.Expect(rem.Status.Wave).To(BeEquivalentTo(1))
				say(ctx, rem, `{"desiredState":"Aborted"}`)
			}).Should(Succeed())
			rem := awaitReason(ctx, namespace, v1alpha1.PhaseRolledBack, v1alpha1.ReasonAborted)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Reverted: 2, Skipped: 2}))
			Expect(states(ctx, namespace)).To(Equal(before))
			breaker := &v1alpha1.RemediationBreaker{
				ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + namespace}}
			Expect(suite.Get(ctx, breaker)).To(Succeed())
			Expect(breaker.Status.State).To(Equal(v1alpha1.BreakerClosed))
			suite.AwaitEvent(ctx, "RemediationNotPlanned", namespace,
				ContainSubstring("evenkeel rollout retry "+rem.Name))

			say(ctx, rem, `{"retryToken":"1"}`)
			suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
			Expect(states(ctx, namespace)).To(HaveEach("good"))
		})

	It("a plan writes nothing before its maintenance window opens", long, func(ctx context.Context) {
		opens := time.Now().UTC().Add(40 * time.Second).Truncate(time.Minute).Add(time.Minute)
		suite.CreatePolicy(ctx, fixing(func(s *fixture.Rollout) {
			s.Windows = []v1alpha1.MaintenanceWindow{
				{Schedule: fmt.Sprintf("%d %d * * *", opens.Minute(), opens.Hour()),
					Duration: metav1.Duration{Duration: time.Hour}}}
		}))
		rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonOutsideWindow)
		Expect(rem.Status.Message).To(ContainSubstring(opens.Format(time.RFC3339)))
		Expect(patchedObjects(namespace)).To(BeEmpty())
		Eventually(ctx, func() v1alpha1.RemediationPhase {
			return suite.Plans(ctx, namespace)[0].Status.Phase
		}).WithTimeout(4 * time.Minute).Should(Equal(v1alpha1.PhaseSucceeded))
		Expect(time.Now()).To(BeTemporally(">=", opens))
	})
})

var _ = Describe("A wave that fails with onFailure Hold", func() {
	It("is left as it is until a person asks to verify it once more", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "hold")
		deployments(ctx, namespace, 1)
		suite.CreatePolicy(ctx,
			fixture.Policy(namespace, namespace, fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "never"),
				fixture.Kinds("", "Pod"), fixture.Unselected,
				fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Deadline(8*time.Second),
					func(s *fixture.Rollout) { s.OnFailure = v1alpha1.FailureHold })))
		rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonVerificationFailed)
		Expect(rem.Status.HeldFrom).To(Equal(v1alpha1.PhaseVerifying))
		Expect(listDeployments(ctx, namespace)[0].Spec.Template.Labels).To(
			HaveKeyWithValue("kwok.evenkeel.dev/ready", "never"))

		pods := &corev1.PodList{}
		repaired := client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"kwok.evenkeel.dev/ready":"repaired"}}}`))
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.API.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
			for i := range pods.Items {
				g.Expect(client.IgnoreNotFound(suite.API.Patch(ctx, &pods.Items[i], repaired))).To(Succeed())
			}
			now := listDeployments(ctx, namespace)[0].Status
			g.Expect(now.UnavailableReplicas).To(BeZero())
			g.Expect(now.Replicas).To(Equal(now.UpdatedReplicas), "the old Pod counts until it is gone")
		}).Should(Succeed())
		Expect(suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseHeld).Status.Retries).To(
			BeZero(), "nothing goes on by itself")
		say(ctx, rem, `{"retryToken":"1"}`)
		rem = suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Retries).To(BeEquivalentTo(1))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1}))
	})
})

var _ = Describe("Two plans at work", func() {
	It("share the budget of the stricter one", func(ctx context.Context) {
		spaces := []string{suite.Namespace(ctx, "budget"), suite.Namespace(ctx, "budget")}
		for _, namespace := range spaces {
			deployments(ctx, namespace, 4)
		}
		restartWith(ctx, "--remediation-max-total-in-flight=1")
		for _, namespace := range spaces {
			suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.RequireTemplateLabel("team", "shop"),
				fixture.Kinds("", "Pod"), fixture.Unselected,
				fixture.Remediated(v1alpha1.RemediationAutomatic)))
			Eventually(ctx, func(g Gomega) { // what is at work counts, not what is planned
				plans := suite.Plans(ctx, namespace)
				g.Expect(plans).NotTo(BeEmpty())
				g.Expect(plans[0].Status.WaveStartTime).NotTo(BeNil())
			}).Should(Succeed())
		}
		atWork := 0
		Eventually(ctx, func(g Gomega) {
			first, second := suite.Plans(ctx, spaces[0]), suite.Plans(ctx, spaces[1])
			inFlight := 0
			for _, rem := range []v1alpha1.Remediation{first[0], second[0]} {
				for _, rec := range suite.Records(ctx, &rem) {
					if rec.State == v1alpha1.TargetIntent || rec.State == v1alpha1.TargetApplied {
						inFlight++
					}
				}
			}
			both := first[0].Status.CompletionTime == nil && second[0].Status.CompletionTime == nil
			if both && inFlight > 1 {
				StopTrying(fmt.Sprintf("%d targets are in flight", inFlight)).Now()
			}
			if both {
				atWork++
			}
			g.Expect(first[0].Status.Phase).To(Equal(v1alpha1.PhaseSucceeded))
			g.Expect(second[0].Status.Phase).To(Equal(v1alpha1.PhaseSucceeded))
		}).WithPolling(20 * time.Millisecond).Should(Succeed())
		Expect(atWork).NotTo(BeZero(), "the plans were at work at the same time")
	})
})
