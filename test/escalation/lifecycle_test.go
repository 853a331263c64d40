// SPDX-License-Identifier: Apache-2.0

package escalation_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

func owner(name string) fixture.PolicyModifier {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Owner = name }
}

// harm makes Deployments, and a policy of the team shop whose fix does them harm.
func harm(ctx context.Context, namespace string) *v1alpha1.ClusterRegoPolicy {
	GinkgoHelper()
	for i := range 3 {
		suite.Create(ctx, fixture.Deployment(namespace, fmt.Sprintf("web-%d", i)))
	}
	Eventually(ctx, func(g Gomega) {
		list := &appsv1.DeploymentList{}
		g.Expect(suite.API.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, d := range list.Items {
			g.Expect(d.Status.AvailableReplicas).To(BeEquivalentTo(1), d.Name)
		}
	}).Should(Succeed())
	return fixture.Policy(namespace, namespace, fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "never"),
		fixture.Kinds("", "Pod"), fixture.Unselected, owner("shop"),
		fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Deadline(3*time.Second)))
}

var _ = Describe("A plan that did harm", Ordered, func() {
	var (
		policy *v1alpha1.ClusterRegoPolicy
		rem    *v1alpha1.Remediation
		labels map[string]string
	)
	told := func(p peer, status string) func() []rig.Notification {
		return func() []rig.Notification { return p.inbox.Of(status, labels) }
	}
	BeforeAll(func(ctx context.Context) {
		policy = harm(ctx, suite.Namespace(ctx, "harm"))
		labels = map[string]string{"alertname": "EvenkeelRemediationRolledBack", "policy": policy.Name}
		suite.CreatePolicy(ctx, policy)
		rem = suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
	})

	It("is told to the team that owns the policy, by both peers, with evidence and what to do",
		func(ctx context.Context) {
			for _, p := range []peer{first, second} {
				Eventually(ctx, told(p, "firing")).Should(HaveLen(1))
				n := told(p, "firing")()[0]
				Expect(n.Receiver).To(Equal("shop"))
				Expect(n.Labels).To(Equal(map[string]string{
					"alertname": "EvenkeelRemediationRolledBack", "severity": "ticket", "cluster": "test-1",
					"namespace": rig.SystemNamespace, "policy": policy.Name, "owner": "shop", "generator": "evenkeel",
				}))
				Expect(n.Annotations).To(
					HaveKeyWithValue("runbook_url", "https://evenkeel.dev/docs/runbooks/remediation-rolled-back"))
				Expect(n.Annotations).To(HaveKeyWithValue("policy_runbook_url", policy.Spec.RunbookURL))
				Expect(n.Annotations).To(
					HaveKeyWithValue("dashboard_url", "https://grafana.example.com/d/evenkeel?var-policy="+policy.Name))
				Expect(n.Annotations["summary"]).To(ContainSubstring(rem.Name))
				canary := suite.Records(ctx, rem)[0]
				Expect(n.Annotations["description"]).To(And(
					ContainSubstring("- Deployment %s/%s: Reverted (%s)", canary.Object.Namespace, canary.Object.Name,
						canary.Reason),
					ContainSubstring("evenkeel rollout retry %s", rem.Name)))
				Expect(n.StartsAt).To(BeTemporally("~", rem.Status.CompletionTime.Time, time.Second))
			}
		})

	It("is one alert, however many targets it has", func(ctx context.Context) {
		alerts, err := first.Alerts(ctx, `alertname="EvenkeelRemediationRolledBack"`,
			fmt.Sprintf("policy=%q", policy.Name))
		Expect(err).NotTo(HaveOccurred())
		Expect(alerts).To(HaveLen(1))
	})

	It("is told once and isn't resolved while the fault lasts, over several ends of what was sent",
		func(ctx context.Context) {
			awaitTicks(ctx, 6) // an alert that isn't sent for four intervals ends
			for _, p := range []peer{first, second} {
				Expect(told(p, "firing")()).To(HaveLen(1))
				Expect(told(p, "resolved")()).To(BeEmpty())
			}
		})

	It("is neither repeated nor resolved when the manager is killed and starts again", func(ctx context.Context) {
		Expect(manager.Kill()).To(Succeed())
		Expect(manager.Start(ctx)).To(Succeed())
		suite.AwaitAdmission(ctx)
		awaitTicks(ctx, 5)
		for _, p := range []peer{first, second} {
			Expect(told(p, "firing")()).To(HaveLen(1))
			Expect(told(p, "resolved")()).To(BeEmpty())
		}
	})

	It("fires again at an Alertmanager that was killed and lost its data", func(ctx context.Context) {
		Expect(first.Kill()).To(Succeed())
		Expect(first.Forget()).To(Succeed())
		Expect(first.Start(ctx)).To(Succeed())
		Eventually(ctx, told(first, "firing")).Should(HaveLen(2))
		Expect(told(first, "resolved")()).To(BeEmpty())
		Expect(told(second, "firing")()).To(HaveLen(1), "the other peer repeats it")
	})

	It("is resolved once the policy is fixed, and its breaker's alert once that is closed", func(ctx context.Context) {
		broken := map[string]string{"alertname": "EvenkeelBreakerOpen", "policy": policy.Name, "scope": "Policy",
			"owner": "shop"}
		Expect(first.inbox.Of("firing", broken)).NotTo(BeEmpty())
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Main = fixture.RequireTemplateLabel("team", "shop")
		})
		for _, p := range []peer{first, second} {
			Eventually(ctx, told(p, "resolved")).Should(HaveLen(1))
		}
		suite.RemovePolicy(ctx, policy.Name)
		for _, p := range []peer{first, second} {
			Eventually(ctx, func() []rig.Notification { return p.inbox.Of("resolved", broken) }).Should(HaveLen(1))
			Eventually(ctx, func() ([]rig.HeldAlert, error) {
				return p.Alerts(ctx, fmt.Sprintf("policy=%q", policy.Name))
			}).Should(BeEmpty())
		}
	})
})
