// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
)

var _ = Describe("The clock jumps in the middle of a wave", func() {
	AfterEach(func() { Expect(os.RemoveAll(offset)).To(Succeed()) })

	DescribeTable("and nothing is written twice, lost or left wrong, nor does the rollout stand still",
		func(ctx context.Context, name, jump string, moment func(*rollout) (int, faultproxy.Match)) {
			manager := suite.StartManager(ctx)
			e := begin(name, manager)
			for _, run := range []struct {
				fleet fleet
				ends  v1alpha1.RemediationPhase
			}{{fixable{6}, v1alpha1.PhaseSucceeded}, {patient(4), v1alpha1.PhaseRolledBack}} {
				Expect(os.RemoveAll(offset)).To(Succeed())
				r := e.roll(ctx, run.fleet)
				nth, match := moment(r)
				jumped := manager.Proxy.Nth(nth, match,
					faultproxy.Fault{After: func(faultproxy.Request, faultproxy.Answer) {
						defer GinkgoRecover()
						Expect(os.WriteFile(offset, []byte(jump), 0o644)).To(Succeed())
					}})
				r.start(ctx)
				r.await(ctx, run.ends)
				Expect(jumped.Hits()).To(Equal(1))
				r.remove(ctx)
			}
			e.end()
		},
		// A jump ahead uses up every deadline at once: a wave that isn't verified
		// yet counts as late, and is undone. That is the safe side.
		Entry("by two hours ahead", SpecTimeout(10*time.Minute), "clock jumps 2 h ahead mid-wave", "2h", atThirdWrite),
		Entry("by two hours back", SpecTimeout(10*time.Minute), "clock jumps 2 h back mid-wave", "-2h", atThirdWrite),
		Entry("by two hours back while a wave is verified", SpecTimeout(10*time.Minute),
			"clock jumps 2 h back in a verification", "-2h", atPhase(v1alpha1.PhaseVerifying)),
		Entry("by two hours back while a wave soaks", SpecTimeout(10*time.Minute), "clock jumps 2 h back in a soak",
			"-2h", atPhase(v1alpha1.PhaseSoaking)),
	)
})

func atThirdWrite(r *rollout) (int, faultproxy.Match) { return 3, r.target }

// atPhase is when the last wave, and not only the canary, has come to the phase;
// one that fails never soaks, so there the canary's soak is meant.
func atPhase(phase v1alpha1.RemediationPhase) func(*rollout) (int, faultproxy.Match) {
	return func(r *rollout) (int, faultproxy.Match) {
		nth := 2
		if _, harm := r.fleet.(*harmed); harm && phase == v1alpha1.PhaseSoaking {
			nth = 1
		}
		return nth, func(q faultproxy.Request) bool {
			return q.IsWrite() && q.Resource == "remediations" &&
				strings.Contains(string(q.Body), fmt.Sprintf(`"phase":%q`, phase))
		}
	}
}
