// SPDX-License-Identifier: Apache-2.0

package escalation_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/rig"
)

// How many faults are measured, and the longest that one may take to reach a
// receiver: well below the default interval, for a change makes a tick of its own.
const (
	faults   = 10
	longest  = 20 * time.Second
	interval = "1m"
)

var _ = Describe("Time to escalation", func() {
	It("is seconds from the fault to the receiver's hands, whatever the interval", func(ctx context.Context) {
		Expect(manager.Stop()).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(manager.Start(ctx)).To(Succeed())
			suite.AwaitAdmission(ctx)
		})
		before := metricsURL
		DeferCleanup(func() { metricsURL = before })
		suite.StartManager(ctx, flags("--alert-interval="+interval)...)

		var delays []time.Duration
		for i := range faults {
			cb := open(ctx, fmt.Sprintf("measured-%d", i))
			labels := map[string]string{"alertname": "EvenkeelBreakerOpen", "policy": fmt.Sprintf("measured-%d", i)}
			Eventually(ctx, func() []rig.Notification { return first.inbox.Of("firing", labels) }).
				WithPolling(10 * time.Millisecond).Should(HaveLen(1))
			delays = append(delays, first.inbox.Of("firing", labels)[0].At.Sub(cb.Status.OpenedTime.Time))
			suite.RemoveBreaker(ctx, cb.Name) // several that are open would open the global one
		}
		slices.Sort(delays)
		AddReportEntry("time to escalation", fmt.Sprintf("%d faults: least %v, median %v, most %v",
			faults, delays[0], delays[faults/2], delays[faults-1]), ReportEntryVisibilityAlways)
		Expect(delays[faults-1]).To(BeNumerically("<", longest))
		Eventually(ctx, func() float64 { // it counts once both peers have answered
			return metric(ctx, `evenkeel_escalation_time_to_escalation_seconds_count{alert="EvenkeelBreakerOpen"}`)
		}).Should(BeEquivalentTo(faults))
	})
})

// open makes a breaker of a policy that opens now.
func open(ctx context.Context, policy string) *v1alpha1.RemediationBreaker {
	GinkgoHelper()
	cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy},
		Spec: v1alpha1.RemediationBreakerSpec{
			Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: policy}}}
	suite.Create(ctx, cb)
	DeferCleanup(func(ctx context.Context) { suite.RemoveBreaker(ctx, cb.Name) })
	closed := cb.DeepCopy()
	at, next := metav1.NowMicro(), metav1.NewMicroTime(time.Now().Add(time.Hour))
	cb.Status.State, cb.Status.Reason, cb.Status.Message = v1alpha1.BreakerOpen, "CanaryFailed", "The canary failed."
	cb.Status.OpenedTime, cb.Status.NextProbeTime, cb.Status.Openings = &at, &next, 1
	Expect(suite.AsManager().Status().Patch(ctx, cb, client.MergeFrom(closed))).To(Succeed())
	return cb
}
