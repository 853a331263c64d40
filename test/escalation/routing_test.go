// SPDX-License-Identifier: Apache-2.0

package escalation_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// force holds a breaker open for the rest of the spec.
func force(ctx context.Context, name string, scope v1alpha1.BreakerScope) {
	GinkgoHelper()
	cb := &v1alpha1.RemediationBreaker{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RemediationBreakerSpec{Scope: scope}}
	Expect(client.IgnoreAlreadyExists(suite.API.Create(ctx, cb))).To(Succeed())
	set := func(ctx context.Context, mode string) error {
		patch := fmt.Sprintf(`{"spec":{"mode":%q}}`, mode)
		return suite.API.Patch(ctx, cb, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	Expect(set(ctx, "ForcedOpen")).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(set(ctx, "Automatic"))).To(Succeed()) })
}

// heldByBreaker makes a policy of the team shop whose plan is held by its breaker,
// and escalated at once.
func heldByBreaker(ctx context.Context, about string) *v1alpha1.ClusterRegoPolicy {
	GinkgoHelper()
	namespace := suite.Namespace(ctx, about)
	suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
	policy := fixture.Policy(namespace, namespace, fixture.FixState, owner("shop"),
		fixture.Remediated(v1alpha1.RemediationAutomatic, func(s *fixture.Rollout) {
			s.Escalation.Deadline = metav1.Duration{Duration: time.Second}
		}))
	force(ctx, v1alpha1.PolicyBreakerPrefix+policy.Name,
		v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: policy.Name})
	suite.CreatePolicy(ctx, policy)
	suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
	return policy
}

// opened are the labels of the alert of a breaker that heldByBreaker opened. Before its policy is there, the
// platform answers for it, and may be told.
func opened(policy string) map[string]string {
	return map[string]string{"alertname": "EvenkeelBreakerOpen", "policy": policy, "owner": "shop"}
}

func held(policy string) []string {
	return []string{`alertname="EvenkeelRemediationHeld"`, fmt.Sprintf("policy=%q", policy)}
}

var _ = Describe("What an Alertmanager is told to leave out", func() {
	It("a plan that its open breaker holds is inhibited by the breaker's alert", func(ctx context.Context) {
		policy := heldByBreaker(ctx, "inhibited")
		Eventually(ctx, func(g Gomega) {
			alerts, err := first.Alerts(ctx, held(policy.Name)...)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(alerts).To(HaveLen(1))
			g.Expect(alerts[0].Status.State).To(Equal("suppressed"))
			g.Expect(alerts[0].Status.InhibitedBy).NotTo(BeEmpty())
		}).Should(Succeed())
		breaker := opened(policy.Name)
		Eventually(ctx, func() []rig.Notification { return first.inbox.Of("firing", breaker) }).Should(HaveLen(1))
		awaitTicks(ctx, 3)
		Expect(first.inbox.Of("firing",
			map[string]string{"alertname": "EvenkeelRemediationHeld", "policy": policy.Name})).To(BeEmpty())
	})

	It("a failed wave that is held pages, though the breaker that it opened fires too", func(ctx context.Context) {
		policy := harm(ctx, suite.Namespace(ctx, "failed-wave"))
		fixture.Rolled(policy, func(s *fixture.Rollout) { s.OnFailure = v1alpha1.FailureHold })
		suite.CreatePolicy(ctx, policy)
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
		labels := map[string]string{"alertname": "EvenkeelWaveFailed", "policy": policy.Name}
		Eventually(ctx, func() []rig.Notification { return first.inbox.Of("firing", labels) }).Should(HaveLen(1))
		breaker := opened(policy.Name)
		Eventually(ctx, func() []rig.Notification { return first.inbox.Of("firing", breaker) }).Should(HaveLen(1))
		awaitTicks(ctx, 3)
		Expect(first.inbox.Of("resolved", labels)).To(BeEmpty())
		alerts, err := first.Alerts(ctx, `alertname="EvenkeelWaveFailed"`, fmt.Sprintf("policy=%q", policy.Name))
		Expect(err).NotTo(HaveOccurred())
		Expect(alerts).To(HaveLen(1))
		Expect(alerts[0].Status.State).To(Equal("active"))
		Expect(alerts[0].Status.InhibitedBy).To(BeEmpty())
	})

	It("a silence of the policy is honoured, and isn't taken for the end of the fault", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "silenced")
		first.Silence(ctx, "policy", namespace)
		force(ctx, v1alpha1.PolicyBreakerPrefix+namespace,
			v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: namespace})
		suite.CleanUp(namespace)
		labels := map[string]string{"policy": namespace}
		Eventually(ctx, func() []rig.Notification {
			return second.inbox.Of("firing", labels)
		}).Should(HaveLen(1), "the peer without the silence")
		awaitTicks(ctx, 3)
		Expect(first.inbox.Of("firing", labels)).To(BeEmpty())
		alerts, err := first.Alerts(ctx, fmt.Sprintf("policy=%q", namespace))
		Expect(err).NotTo(HaveOccurred())
		Expect(alerts).To(HaveLen(1))
		Expect(alerts[0].Status.SilencedBy).To(HaveLen(1))
	})

	It("the kill switch goes to whoever answers for the platform, as information, and ends with it",
		func(ctx context.Context) {
			labels := map[string]string{"alertname": "EvenkeelBreakerOpen", "scope": "Global", "severity": "info",
				"owner": "platform"}
			before := len(first.inbox.Of("firing", labels))
			force(ctx, v1alpha1.GlobalBreakerName, v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal})
			Eventually(ctx, func() []rig.Notification {
				return first.inbox.Of("firing", labels)
			}).Should(HaveLen(before + 1))
			Expect(first.inbox.Of("firing", labels)[before].Receiver).To(Equal("platform"))
			resolved := len(first.inbox.Of("resolved", labels))
			release := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.GlobalBreakerName}}
			Expect(suite.API.Patch(ctx, release,
				client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":"Automatic"}}`)))).To(Succeed())
			Eventually(ctx, func() []rig.Notification {
				return first.inbox.Of("resolved", labels)
			}).Should(HaveLen(resolved + 1))
		})
})

var _ = Describe("An Alertmanager that is down", func() {
	It("keeps no alert from the other peer, and gets all of them when it is back", func(ctx context.Context) {
		Expect(first.Stop()).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			if !first.Running() {
				Expect(first.Start(ctx)).To(Succeed())
			}
		})
		policy := heldByBreaker(ctx, "down")
		labels := opened(policy.Name)
		Eventually(ctx, func() []rig.Notification { return second.inbox.Of("firing", labels) }).Should(HaveLen(1))
		Expect(first.Start(ctx)).To(Succeed())
		Eventually(ctx, func() []rig.Notification { return first.inbox.Of("firing", labels) }).Should(HaveLen(1))
		Expect(second.inbox.Of("resolved", labels)).To(BeEmpty())
	})

	It("holds no remediation up, even when it is all of them", func(ctx context.Context) {
		for _, p := range []peer{first, second} {
			Expect(p.Stop()).To(Succeed())
			DeferCleanup(p.Start)
		}
		namespace := suite.Namespace(ctx, "deaf")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 5)...)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 5}))
	})
})

var _ = Describe("A plan that lacks permissions", func() {
	It("is escalated at its deadline with the exact rule to add, and resolved once it goes on",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "permissions")
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: fixture.TargetLabels()},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}
			suite.Create(ctx, service)
			policy := fixture.Policy(namespace, namespace, ownService, fixture.Kinds("", "Service"), owner("shop"),
				fixture.Remediated(v1alpha1.RemediationAutomatic, func(s *fixture.Rollout) {
					s.Escalation.Deadline = metav1.Duration{Duration: 2 * time.Second}
				}))
			suite.CreatePolicy(ctx, policy)
			labels := map[string]string{"alertname": "EvenkeelRemediationHeld", "policy": policy.Name}
			Eventually(ctx, func() []rig.Notification { return first.inbox.Of("firing", labels) }).Should(HaveLen(1))
			told := first.inbox.Of("firing", labels)[0]
			Expect(told.Receiver).To(Equal("shop"))
			Expect(told.Annotations["description"]).To(
				ContainSubstring(`{apiGroups: [""], resources: ["services"], verbs: ["patch"]}`))
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
			Expect(told.StartsAt.Sub(rem.Status.PhaseStartTime.Time)).To(BeNumerically(">=", 2*time.Second),
				"told before the deadline")

			role := &rbacv1.ClusterRole{
				ObjectMeta: metav1.ObjectMeta{
					Name: namespace, Labels: map[string]string{"rbac.evenkeel.dev/aggregate-to-writer": "true"}},
				Rules: []rbacv1.PolicyRule{
					{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get", "patch"}}},
			}
			suite.Create(ctx, role)
			DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
			suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Eventually(ctx, func() []rig.Notification { return first.inbox.Of("resolved", labels) }).Should(HaveLen(1))
		})
})

// ownService finds Services without the label owner, and adds it.
const ownService = `package fixture.own_service

import rego.v1

missing if not input.object.metadata.labels.owner

deny contains {"msg": "label owner is missing", "path": "/metadata/labels/owner"} if missing

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels/owner", "value": "shop"}]} if missing
`
