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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// statefulSets creates StatefulSets of one update strategy, and waits for their Pods.
func statefulSets(ctx context.Context, namespace, name string, n int, strategy appsv1.StatefulSetUpdateStrategy) {
	GinkgoHelper()
	for i := range n {
		of := fixture.Deployment(namespace, fmt.Sprintf("%s-%d", name, i))
		suite.Create(ctx, &appsv1.StatefulSet{ObjectMeta: of.ObjectMeta, Spec: appsv1.StatefulSetSpec{
			Replicas: of.Spec.Replicas, Selector: of.Spec.Selector, Template: of.Spec.Template, ServiceName: name,
			UpdateStrategy: strategy}})
	}
	Eventually(ctx, func(g Gomega) {
		for _, s := range listStatefulSets(ctx, namespace) {
			g.Expect(s.Status.ReadyReplicas).To(BeEquivalentTo(1), s.Name)
		}
	}).Should(Succeed())
}

func listStatefulSets(ctx context.Context, namespace string) []appsv1.StatefulSet {
	GinkgoHelper()
	list := &appsv1.StatefulSetList{}
	Expect(suite.API.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

var _ = Describe("A fix of a Pod template", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "template") })

	It("isn't written where no Pod would run it: the ready Pods are old ones, and prove nothing",
		func(ctx context.Context) {
			grantVerbs(ctx, namespace+"-statefulsets", "apps", "statefulsets", "get", "list", "watch", "patch")
			partition := int32(5)
			statefulSets(ctx, namespace, "ondelete", 2,
				appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType})
			statefulSets(ctx, namespace, "partition", 2,
				appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
					RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}})
			deployments(ctx, namespace, 1)
			policy := overPods(namespace, fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "yes"),
				fixture.Waves("100%"))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1, Failed: 4}))
			for _, name := range []string{"ondelete-0", "ondelete-1", "partition-0", "partition-1"} {
				record := suite.RecordOf(ctx, rem, name)
				Expect(record.Reason).To(Equal(v1alpha1.ReasonHealthUnknown), name)
				Expect(record.Message).To(ContainSubstring("health.unknown: Allow"), name)
			}
			for _, s := range listStatefulSets(ctx, namespace) {
				Expect(s.Generation).To(BeEquivalentTo(1), "%s was touched", s.Name)
			}
		})

	It("is undone, and no breaker counts it, where a neighbour scales the workload to 0 right after its write",
		func(ctx context.Context) {
			deployments(ctx, namespace, 1)
			policy := overPods(namespace, fixture.RequireTemplateLabel("team", "shop"),
				fixture.Deadline(10*time.Second), func(s *fixture.Rollout) {
					fixture.Soak(time.Minute)(s)
				})
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, func(g Gomega) {
				d := &listDeployments(ctx, namespace)[0]
				g.Expect(d.Spec.Template.Labels).To(HaveKeyWithValue("team", "shop"))
				none := int32(0)
				d.Spec.Replicas = &none
				g.Expect(suite.API.Update(ctx, d)).To(Succeed())
			}).Should(Succeed())
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonNoAnswer))
			Expect(rem.Status.Message).To(ContainSubstring("scaled to 0"))
			Expect(suite.RecordOf(ctx, rem, "web-0").Reason).To(Equal(v1alpha1.ReasonHealthUnknown))
			d := listDeployments(ctx, namespace)[0]
			Expect(d.Spec.Template.Labels).NotTo(HaveKey("team"))
			Expect(d.Spec.Replicas).To(HaveValue(BeZero()), "what the neighbour wants is kept")
			breaker := &v1alpha1.RemediationBreaker{
				ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy.Name}}
			Expect(suite.Get(ctx, breaker)).To(Succeed())
			Expect(breaker.Status.Failures).To(BeZero())
		})
})
