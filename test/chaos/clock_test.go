package chaos_test

import (
	"context"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
)

var _ = Describe("The clock jumps in the middle of a wave", func() {
	AfterEach(func() { Expect(os.RemoveAll(offset)).To(Succeed()) })

	DescribeTable("and nothing is written twice, lost or left wrong, nor does the rollout stand still",
		func(ctx context.Context, name, jump string, ends []v1alpha1.RemediationPhase) {
			manager := suite.StartManager(ctx)
			e := begin(name, manager)
			for n, f := range []fleet{mendable{6}, &harmed{n: 4}} {
				Expect(os.RemoveAll(offset)).To(Succeed())
				r := e.roll(ctx, f)
				jumped := manager.Proxy.Nth(3, r.target, faultproxy.Fault{After: func(faultproxy.Request, faultproxy.Answer) {
					defer GinkgoRecover()
					Expect(os.WriteFile(offset, []byte(jump), 0o644)).To(Succeed())
				}})
				r.start(ctx)
				r.await(ctx, ends[n])
				Expect(jumped.Hits()).To(Equal(1))
				r.remove(ctx)
			}
			e.end()
		},
		// A jump ahead uses up every deadline at once: a wave that isn't verified
		// yet counts as late, and is undone. That is the safe side.
		Entry("by two hours ahead", SpecTimeout(3*time.Minute), "clock jumps 2 h ahead mid-wave", "2h",
			[]v1alpha1.RemediationPhase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseRolledBack}),
		Entry("by two hours back", SpecTimeout(3*time.Minute), "clock jumps 2 h back mid-wave", "-2h",
			[]v1alpha1.RemediationPhase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseRolledBack}),
	)
})
