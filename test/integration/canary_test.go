// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/test/fixture"
)

// deployments creates Deployments and waits until they are available.
func deployments(ctx context.Context, namespace string, n int) {
	GinkgoHelper()
	for i := range n {
		suite.Create(ctx, fixture.Deployment(namespace, fmt.Sprintf("web-%d", i)))
	}
	Eventually(ctx, func(g Gomega) {
		for _, d := range listDeployments(ctx, namespace) {
			g.Expect(d.Status.AvailableReplicas).To(BeEquivalentTo(1), d.Name)
		}
	}).Should(Succeed())
}

func listDeployments(ctx context.Context, namespace string) []appsv1.Deployment {
	GinkgoHelper()
	list := &appsv1.DeploymentList{}
	Expect(suite.API.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// overPods is a policy named as its namespace, which fixes Pods at what makes them.
func overPods(namespace, rego string, strategy ...func(*fixture.Rollout)) *v1alpha1.ClusterRegoPolicy {
	return fixture.Policy(namespace, namespace, rego, fixture.Kinds("", "Pod"), fixture.Unselected,
		fixture.Remediated(v1alpha1.RemediationAutomatic, strategy...))
}

var _ = Describe("A rollout over Deployments", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "rollout") })

	It("fixes them by canary and waves, verified by the health of their pods, and tells so by events",
		func(ctx context.Context) {
			deployments(ctx, namespace, 6)
			policy := overPods(namespace, fixture.RequireTemplateLabel("team", "shop"), fixture.Waves("50%", "100%"))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(canary.Targets(rem.Spec.Plan.Waves)).To(Equal([]int32{1, 2, 3}))
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 6}))
			for _, d := range listDeployments(ctx, namespace) {
				Expect(d.Spec.Template.Labels).To(HaveKeyWithValue("team", "shop"))
				Expect(d.Generation).To(BeEquivalentTo(2), "%s was changed once", d.Name)
			}
			for _, reason := range []string{"PlanMade", "CanaryPassed", "WaveDone", "RemediationSucceeded"} {
				suite.AwaitEvent(ctx, reason, rem.Name, Not(BeEmpty()))
			}
			suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.Violating).To(BeZero())
			})
		})

	It("a canary that becomes unready is rolled back exactly, the breaker opens, and the others stay untouched",
		func(ctx context.Context) {
			deployments(ctx, namespace, 4)
			before := map[string]appsv1.DeploymentSpec{}
			for _, d := range listDeployments(ctx, namespace) {
				before[d.Name] = d.Spec
			}
			policy := overPods(namespace, fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "never"),
				fixture.Deadline(4*time.Second))
			suite.CreatePolicy(ctx, policy)

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Reverted: 1, Skipped: 3}))
			records := suite.Records(ctx, rem)
			canary := records[0]
			Expect(canary.State).To(Equal(v1alpha1.TargetReverted))
			for _, d := range listDeployments(ctx, namespace) {
				Expect(d.Spec).To(Equal(before[d.Name]), d.Name)
				if d.Name == canary.Object.Name {
					Expect(d.Generation).To(BeEquivalentTo(3), "changed and set back")
					continue
				}
				Expect(d.Generation).To(BeEquivalentTo(1), "%s was touched", d.Name)
			}
			for _, record := range records[1:] {
				Expect(record.State).To(Equal(v1alpha1.TargetSkipped))
				Expect(record.Reason).To(Equal(v1alpha1.ReasonNotAttempted))
			}
			breaker := &v1alpha1.RemediationBreaker{
				ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy.Name}}
			Expect(suite.Get(ctx, breaker)).To(Succeed())
			Expect(breaker.Status.State).To(Equal(v1alpha1.BreakerOpen))
			Expect(breaker.Status.Reason).To(Equal("CanaryFailed"))
			suite.AwaitEvent(ctx, "RolledBack", rem.Name, ContainSubstring("undone"))
			suite.AwaitEvent(ctx, "BreakerOpened", breaker.Name, ContainSubstring(rem.Name))
			suite.AwaitEvent(ctx, "RemediationReverted", canary.Object.Name, ContainSubstring("/spec/template"))
			suite.AwaitEvent(ctx, "RemediationNotPlanned", policy.Name, ContainSubstring("evenkeel rollout retry "))
			Expect(suite.Plans(ctx, policy.Name)).To(HaveLen(1), "what was rolled back isn't tried again by itself")
		})

	It("a rollback keeps what somebody else has written meanwhile, and says so", func(ctx context.Context) {
		deployments(ctx, namespace, 2)
		policy := overPods(namespace, fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "never"),
			fixture.Deadline(10*time.Second)) // enough for somebody else to write
		suite.CreatePolicy(ctx, policy)
		var canary string
		Eventually(ctx, func() string {
			for _, d := range listDeployments(ctx, namespace) {
				if d.Generation > 1 {
					canary = d.Name
				}
			}
			return canary
		}).ShouldNot(BeEmpty())
		theirs := `{"spec":{"template":{"metadata":{"labels":{"kwok.evenkeel.dev/ready":"later"}},
			"spec":{"containers":[{"name":"web","image":"example.com/web:unready"}]}}}}`
		Expect(suite.API.Patch(ctx, fixture.Deployment(namespace, canary),
			client.RawPatch(types.MergePatchType, []byte(theirs)))).To(Succeed())

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRollbackIncomplete)
		Expect(suite.RecordOf(ctx, rem, canary).State).To(Equal(v1alpha1.TargetRevertConflict))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{RevertConflict: 1, Skipped: 1}))
		suite.AwaitEvent(ctx, "RollbackIncomplete", rem.Name, ContainSubstring("somebody else"))
		d := fixture.Deployment(namespace, canary)
		Expect(suite.Get(ctx, d)).To(Succeed())
		Expect(d.Spec.Template.Labels).To(HaveKeyWithValue("kwok.evenkeel.dev/ready", "later"))
	})

	It("a breaker that is forced open holds the plan, and releasing it lets the plan go on", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
		breaker := &v1alpha1.RemediationBreaker{
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + namespace},
			Spec: v1alpha1.RemediationBreakerSpec{
				Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: namespace},
				Mode:  v1alpha1.BreakerForcedOpen,
			},
		}
		suite.Create(ctx, breaker)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonBreakerOpen))
		Expect(rem.Status.Message).To(ContainSubstring("held open by a person"))
		Expect(patchedObjects(namespace)).To(BeEmpty())

		release := `{"spec":{"mode":"Automatic"}}`
		Expect(suite.API.Patch(ctx, breaker, client.RawPatch(types.MergePatchType, []byte(release)))).To(Succeed())
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(patchedObjects(namespace)).To(HaveLen(2))
	})
})
