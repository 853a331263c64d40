package chaos_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

var _ = Describe("A neighbour is down in the middle of a wave", func() {
	It("Alertmanager: rollouts and rollbacks don't wait for it", SpecTimeout(3*time.Minute), func(ctx context.Context) {
		// Nobody listens on the discard port of a machine that runs tests.
		manager := suite.StartManager(ctx, "--alertmanager-url=http://127.0.0.1:9", "--cluster-name=chaos", "--alert-interval=1s")
		e := begin("Alertmanager down throughout", manager)
		for _, run := range []struct {
			fleet fleet
			ends  v1alpha1.RemediationPhase
		}{{mendable{6}, v1alpha1.PhaseSucceeded}, {&harmed{n: 4}, v1alpha1.PhaseRolledBack}} {
			r := e.roll(ctx, run.fleet)
			r.start(ctx)
			r.await(ctx, run.ends)
			r.remove(ctx)
		}
		e.end()
	})
})
