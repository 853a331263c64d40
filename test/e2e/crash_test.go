// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

const (
	// crashTargets make a canary and a batch of two.
	crashTargets = 3
	crashTimeout = 15 * time.Minute
)

var _ = Describe("A rollout whose manager is killed", func() {
	DescribeTable(
		"the manager is killed at its writes in turn and no target is patched twice, lost, or left half-done",
		func(ctx context.Context, fault func(*rig.Manager) faultproxy.Fault) {
			manager := suite.StartManager(ctx)
			faulted := rig.AtWrites(func(nth int) *faultproxy.Injection {
				run := newCrashRun(ctx, manager, "crash")
				writes := rig.RolloutWrites(run.namespace, target(run.namespace))
				killed := manager.Proxy.Nth(nth, writes, fault(manager))
				run.begin(ctx)
				Eventually(ctx, func() bool { return killed.Hits() == 1 || run.ended(ctx) }).Should(BeTrue())
				manager.Proxy.Reset()
				if killed.Hits() == 1 {
					Eventually(ctx, manager.Running).Should(BeFalse())
					Expect(manager.Start(ctx)).To(Succeed())
				}
				By(fmt.Sprintf("looking at what was killed at write %d", nth))
				run.expectFixed(ctx)
				run.remove(ctx)
				return killed
			})
			AddReportEntry("writes at which the manager was killed", faulted)
		},
		Entry("before the write happens", SpecTimeout(crashTimeout), func(m *rig.Manager) faultproxy.Fault {
			return faultproxy.Fault{LoseRequest: true, Before: func(faultproxy.Request) { crash(m) }}
		}),
		Entry("after the write, whose answer is lost", SpecTimeout(crashTimeout),
			func(m *rig.Manager) faultproxy.Fault {
				return faultproxy.Fault{LoseAnswer: true,
					After: func(faultproxy.Request, faultproxy.Answer) { crash(m) }}
			}),
	)
})

// crash kills the manager in the middle of a request.
func crash(m *rig.Manager) {
	defer GinkgoRecover()
	Expect(m.Kill()).To(Succeed())
}

// crashRun is one rollout over a namespace of its own.
type crashRun struct {
	namespace string
	policy    *v1alpha1.ClusterRegoPolicy
	proxy     *faultproxy.Proxy
	// from is the number of writes that the proxy had seen before.
	from int
}

func newCrashRun(ctx context.Context, manager *rig.Manager, about string) *crashRun {
	GinkgoHelper()
	namespace := suite.Namespace(ctx, about)
	suite.Create(ctx, fixture.ConfigMaps(namespace, crashTargets)...)
	return &crashRun{
		namespace: namespace, proxy: manager.Proxy, from: len(manager.Proxy.Writes()),
		policy: fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Concurrent(2))),
	}
}

func (c *crashRun) begin(ctx context.Context) {
	GinkgoHelper()
	suite.CreatePolicy(ctx, c.policy)
}

// remove clears away what the rollout left, so that the next one begins alike.
func (c *crashRun) remove(ctx context.Context) {
	GinkgoHelper()
	suite.RemovePolicy(ctx, c.policy.Name)
}

// ended says whether the rollout has ended well.
func (c *crashRun) ended(ctx context.Context) bool {
	GinkgoHelper()
	plans := suite.Plans(ctx, c.policy.Name)
	return len(plans) > 0 && plans[len(plans)-1].Status.Phase == v1alpha1.PhaseSucceeded
}

// expectFixed waits for the end of the rollout and checks that every target was
// fixed, by exactly one write, which was recorded before it was made.
func (c *crashRun) expectFixed(ctx context.Context) {
	GinkgoHelper()
	rem := suite.AwaitPhase(ctx, c.policy.Name, v1alpha1.PhaseSucceeded)
	Expect(suite.Plans(ctx, c.policy.Name)).To(HaveLen(1), "more than one plan")
	Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: crashTargets}))
	for _, rec := range suite.Records(ctx, rem) {
		Expect(rec.State).To(Equal(v1alpha1.TargetDone), rec.Object.Name)
	}
	writes := c.proxy.Writes()[c.from:]
	list := &corev1.ConfigMapList{}
	Expect(suite.API.List(ctx, list, client.InNamespace(c.namespace), client.MatchingLabels(fixture.TargetLabels()))).
		To(Succeed())
	once := map[string]int{}
	for _, target := range list.Items {
		once[string(target.UID)] = 1
		Expect(target.Data).To(Equal(map[string]string{"state": "good", "patched": "1"}), target.Name)
	}
	Expect(once).To(HaveLen(crashTargets), "a target is gone")
	Expect(patched(c.namespace, writes)).To(Equal(once), "successful patches by UID")
	expectIntentsFirst(c.namespace, writes)
	orphans := &v1alpha1.RemediationSliceList{}
	Expect(suite.API.List(ctx, orphans, client.MatchingLabels{v1alpha1.LabelPolicy: c.policy.Name})).To(Succeed())
	Expect(orphans.Items).To(HaveLen(len(rem.Spec.Plan.Slices)), "slices that belong to no plan")
}
