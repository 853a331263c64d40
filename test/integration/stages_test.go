// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/test/fixture"
)

// environment makes a namespace with the label env, and n targets in it.
func environment(ctx context.Context, env string, n int) string {
	GinkgoHelper()
	name := suite.Namespace(ctx, env)
	label(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, "env", env)
	suite.Create(ctx, fixture.ConfigMaps(name, n)...)
	return name
}

func label(ctx context.Context, o client.Object, key, value string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	Expect(suite.API.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

func labelled(key, value string) *v1alpha1.LabelSelector {
	return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
}

// staged sets a stage for each environment, in order.
func staged(envs ...string) func(*fixture.Rollout) {
	return func(s *fixture.Rollout) {
		for _, env := range envs {
			s.Stages = append(s.Stages,
				v1alpha1.RolloutStage{Name: env,
					Selector: v1alpha1.TargetSelector{NamespaceSelector: labelled("env", env)}})
		}
	}
}

var _ = Describe("A rollout by stages", func() {
	It("fixes staging first, in a canary and waves of its own, then prod, then what no stage chooses",
		func(ctx context.Context) {
			prod, staging, dev := environment(ctx, "prod", 3), environment(ctx, "staging", 3),
				environment(ctx, "dev", 2)
			policy := fixture.Policy(staging, staging, fixture.FixState, fixture.InNamespaces(prod, dev),
				fixture.Remediated(v1alpha1.RemediationAutomatic, staged("staging", "prod")))
			suite.CreatePolicy(ctx, policy)

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(canary.Targets(rem.Spec.Plan.Waves)).To(Equal([]int32{1, 2, 1, 2, 1, 1}))
			Expect(rem.Spec.Plan.Stages).To(Equal([]v1alpha1.PlannedStage{
				{Name: "staging"}, {Name: "prod", FirstWave: 2}, {Name: "others", FirstWave: 4}}))
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 8}))
			Expect(writtenNamespaces(staging, prod, dev)).To(Equal([]string{staging, prod, dev}),
				"each namespace's writes are together, and in the order of the stages")
			suite.AwaitEvent(ctx, "PlanMade", rem.Name, ContainSubstring("staging [1 2]; prod [1 2]; others [1 1]"))
		})

	It("draws the canary from what the selector chooses, and makes no plan while it chooses nothing",
		func(ctx context.Context) {
			namespace := environment(ctx, "canary", 4)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic,
					func(s *fixture.Rollout) {
						s.Steps[0].Selector = &v1alpha1.TargetSelector{ObjectSelector: labelled("brave", "yes")}
					}))
			suite.CreatePolicy(ctx, policy)
			suite.AwaitEvent(ctx, "RemediationNotPlanned", policy.Name,
				ContainSubstring("steps[0].selector of the strategy (objects with brave=yes) chooses none"))
			Expect(suite.Plans(ctx, policy.Name)).To(BeEmpty())
			Expect(patchedObjects(namespace)).To(BeEmpty())

			brave := fixture.ConfigMap(namespace, "target-2")
			label(ctx, brave, "brave", "yes")
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(suite.RecordOf(ctx, rem, "target-2").PlannedWave).To(BeZero())
			Expect(canary.Targets(rem.Spec.Plan.Waves)).To(Equal([]int32{1, 3}))
			Expect(patchedObjects(namespace)[0]).To(BeEquivalentTo(brave.UID), "the canary is written first")
		})

	It("holds no more targets in a plan than the budget says, and goes on in the next", func(ctx context.Context) {
		namespace := environment(ctx, "few", 5)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic,
				func(s *fixture.Rollout) {
					s.MaxTargets = ptr.To[int32](2)
				}))
		suite.CreatePolicy(ctx, policy)
		Eventually(ctx, func() []string { return patchedObjects(namespace) }).Should(HaveLen(5))
		var sizes []int32
		for _, rem := range suite.Plans(ctx, policy.Name) {
			sizes = append(sizes, rem.Spec.Plan.Targets)
			if len(sizes) == 1 {
				suite.AwaitEvent(ctx, "PlanMade", rem.Name, ContainSubstring("2 of 5 targets"))
			}
		}
		Expect(sizes).To(Equal([]int32{2, 2, 1}))
		Expect(slices.Compact(slices.Sorted(slices.Values(patchedObjects(namespace))))).To(
			HaveLen(5), "each is written once")
	})
})

// writtenNamespaces are the namespaces of the manager's writes to ConfigMaps, in
// order, each run of one namespace once.
func writtenNamespaces(among ...string) []string {
	var order []string
	for _, w := range manager.Proxy.Writes() {
		if w.Resource == "configmaps" && slices.Contains(among, w.Namespace) && w.Succeeded() {
			order = append(order, w.Namespace)
		}
	}
	return slices.Compact(order)
}
