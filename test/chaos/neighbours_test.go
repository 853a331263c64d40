// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A neighbour is down in the middle of a wave", func() {
	It("Alertmanager: rollouts and rollbacks don't wait for it", SpecTimeout(9*time.Minute), func(ctx context.Context) {
		// Nobody listens on the discard port of a machine that runs tests.
		manager := suite.StartManager(ctx, "--alertmanager-url=http://127.0.0.1:9", "--cluster-name=chaos",
			"--alert-interval=1s")
		e := begin("Alertmanager down throughout", manager)
		for _, run := range []struct {
			fleet fleet
			ends  v1alpha1.RemediationPhase
		}{{fixable{6}, v1alpha1.PhaseSucceeded}, {patient(4), v1alpha1.PhaseRolledBack}} {
			r := e.roll(ctx, run.fleet)
			r.start(ctx)
			r.await(ctx, run.ends)
			r.remove(ctx)
		}
		e.end()
	})

	It("Prometheus: what can't be proved isn't a pass, and the rollout goes on when it is back",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			prometheus := suite.StartPrometheus(ctx, "global: {scrape_interval: 1s}\n")
			manager := suite.StartManager(ctx, "--prometheus-url="+prometheus.URL)
			e := begin("Prometheus killed mid-wave, started again later", manager)
			r := e.roll(ctx, fixable{6})
			fixture.Rolled(r.policyOf, fixture.Metric("one", "vector(1)", "sample == 1.0"))
			killed := manager.Proxy.Nth(2, r.target,
				faultproxy.Fault{After: func(faultproxy.Request, faultproxy.Answer) {
					defer GinkgoRecover()
					Expect(prometheus.Kill()).To(Succeed())
				}})
			r.start(ctx)
			held := suite.AwaitPhase(ctx, r.policyOf.Name, v1alpha1.PhaseHeld)
			Expect(killed.Hits()).To(Equal(1))
			Expect(held.Status.Reason).To(Equal(v1alpha1.ReasonAnalysisInconclusive))
			Expect(prometheus.Start(ctx)).To(Succeed())
			r.await(ctx, v1alpha1.PhaseSucceeded)
			e.end()
		})
})
