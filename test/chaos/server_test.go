// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/rig"
)

// outage is something that fails for a while under a rollout. What it returns is
// called when the rollout has begun, and waits until the API can be asked again.
type outage func(ctx context.Context, manager *rig.Manager, r *rollout) (over func(context.Context))

var _ = Describe("The API fails in the middle of a wave", Ordered, func() {
	var manager *rig.Manager
	BeforeAll(func(ctx context.Context) { manager = suite.StartManager(ctx) })
	AfterEach(func() {
		manager.ReportFailure()
		manager.Proxy.Reset()
	})

	DescribeTable("and both a rollout and a rollback end as they would have",
		func(ctx context.Context, name string, fails outage) {
			e := begin(name, manager)
			for _, run := range []struct {
				fleet fleet
				ends  v1alpha1.RemediationPhase
			}{{fixable{6}, v1alpha1.PhaseSucceeded}, {patient(4), v1alpha1.PhaseRolledBack}} {
				r := e.roll(ctx, run.fleet)
				over := fails(ctx, manager, r)
				r.start(ctx)
				over(ctx)
				r.await(ctx, run.ends)
				Expect(suite.Plans(ctx, r.policyOf.Name)).To(HaveLen(1), "plans")
				manager.Proxy.Reset()
				r.remove(ctx)
			}
			e.end()
		},
		Entry("when kube-apiserver is restarted", SpecTimeout(10*time.Minute), "API server restarted mid-wave",
			restart("kube-apiserver")),
		Entry("when etcd is restarted", SpecTimeout(10*time.Minute), "etcd restarted mid-wave", restart("etcd")),
		Entry("when it answers 429", SpecTimeout(10*time.Minute), "2 of 7 writes answered 429 Too Many Requests",
			someOf(answered(http.StatusTooManyRequests, "TooManyRequests"))),
		Entry("when it answers 500", SpecTimeout(10*time.Minute), "2 of 7 writes answered 500 Internal Server Error",
			someOf(answered(http.StatusInternalServerError, "InternalError"))),
		Entry("when requests are lost", SpecTimeout(10*time.Minute), "2 of 7 writes lost before the API server",
			someOf(faultproxy.Fault{LoseRequest: true})),
		Entry("when answers are lost", SpecTimeout(10*time.Minute), "2 of 7 writes' answers lost (timeouts)",
			someOf(faultproxy.Fault{LoseAnswer: true})),
		Entry("when watches are dropped", SpecTimeout(10*time.Minute), "all watches dropped at every write",
			func(_ context.Context, m *rig.Manager, r *rollout) func(context.Context) {
				dropped := m.Proxy.Every(r.any, faultproxy.Fault{Before: func(faultproxy.Request) {
					m.Proxy.DropWatches()
				}})
				return func(ctx context.Context) { Eventually(ctx, dropped.Hits).Should(BeNumerically(">", 5)) }
			}),
	)
})

// restart restarts a component at the second write to a target.
func restart(component string) outage {
	return func(ctx context.Context, m *rig.Manager, r *rollout) func(context.Context) {
		done := make(chan error, 1)
		m.Proxy.Nth(2, r.target, faultproxy.Fault{Before: func(faultproxy.Request) {
			go func() { done <- suite.Component(context.WithoutCancel(ctx), "restart", component) }()
		}})
		return func(ctx context.Context) { Eventually(ctx, done).Should(Receive(Succeed())) }
	}
}

// someOf makes two of every seven writes of a rollout fail.
func someOf(fault faultproxy.Fault) outage {
	return func(_ context.Context, m *rig.Manager, r *rollout) func(context.Context) {
		var n atomic.Int64
		failed := m.Proxy.Every(func(q faultproxy.Request) bool {
			if !r.any(q) {
				return false
			}
			// Irregular, or it would hit the same write of every try.
			turn := n.Add(1)
			return turn*turn%7 == 4
		}, fault)
		return func(ctx context.Context) { Eventually(ctx, failed.Hits).Should(BeNumerically(">", 5)) }
	}
}

func answered(status int, reason string) faultproxy.Fault {
	body := fmt.Sprintf(
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"on purpose","code":%d}`, reason,
		status)
	return faultproxy.Fault{Answer: &faultproxy.Answer{Status: status, Body: []byte(body)}}
}
