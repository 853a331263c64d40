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
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("The leader is killed", func() {
	// crash kills the manager in the middle of a request.
	crash := func(m *rig.Manager) {
		defer GinkgoRecover()
		Expect(m.Kill()).To(Succeed())
	}
	DescribeTable("at writes of a rollout in turn",
		func(ctx context.Context, name string, fresh func() fleet, ends v1alpha1.RemediationPhase,
			match func(*rollout) faultproxy.Match, fault func(*rig.Manager) faultproxy.Fault) {
			if ends == v1alpha1.PhaseSucceeded && os.Getenv(tableVariable) == "" {
				Skip("the end-to-end suite kills the manager at these writes, too; here they are counted for the table")
			}
			manager := suite.StartManager(ctx)
			e := begin(name, manager)
			kills := rig.AtWrites(func(nth int) *faultproxy.Injection {
				r := e.roll(ctx, fresh())
				killed := manager.Proxy.Nth(nth, match(r), fault(manager))
				r.start(ctx)
				Eventually(ctx, func() bool {
					plans := suite.Plans(ctx, r.policyOf.Name)
					return killed.Hits() == 1 || len(plans) > 0 && plans[len(plans)-1].Status.Phase == ends
				}).Should(BeTrue())
				manager.Proxy.Reset()
				if killed.Hits() == 1 {
					Eventually(ctx, manager.Running).Should(BeFalse())
					Expect(manager.Start(ctx)).To(Succeed())
				}
				By(fmt.Sprintf("looking at what was killed at write %d", nth))
				r.await(ctx, ends)
				Expect(suite.Plans(ctx, r.policyOf.Name)).To(HaveLen(1), "plans")
				r.remove(ctx)
				return killed
			})
			e.Fault = fmt.Sprintf(name, kills)
			e.end()
		},
		Entry("whose request is lost", SpecTimeout(15*time.Minute),
			"leader killed before each of its %d writes in turn",
			func() fleet { return fixable{3} }, v1alpha1.PhaseSucceeded, everyWrite,
			func(m *rig.Manager) faultproxy.Fault {
				return faultproxy.Fault{LoseRequest: true, Before: func(faultproxy.Request) { crash(m) }}
			}),
		Entry("whose answer is lost", SpecTimeout(15*time.Minute), "leader killed after each of its %d writes in turn",
			func() fleet { return fixable{3} }, v1alpha1.PhaseSucceeded, everyWrite,
			func(m *rig.Manager) faultproxy.Fault {
				return faultproxy.Fault{LoseAnswer: true,
					After: func(faultproxy.Request, faultproxy.Answer) { crash(m) }}
			}),
		Entry("from the moment that a wave fails", long, SpecTimeout(20*time.Minute),
			"leader killed after each of the %d writes of a rollback in turn",
			func() fleet {
				return &harmed{n: 4}
			}, v1alpha1.PhaseRolledBack, onceFailing, func(m *rig.Manager) faultproxy.Fault {
				return faultproxy.Fault{LoseAnswer: true,
					After: func(faultproxy.Request, faultproxy.Answer) { crash(m) }}
			}),
	)
})

func everyWrite(r *rollout) faultproxy.Match { return r.any }

// onceFailing matches the writes that begin with the one that says that a wave
// has failed: the breakers', then those of the rollback.
func onceFailing(r *rollout) faultproxy.Match {
	failing := false
	return func(q faultproxy.Request) bool {
		if !r.any(q) {
			return false
		}
		failing = failing || q.Resource == "remediationbreakers" && strings.Contains(string(q.Body), `"failures":1`)
		return failing
	}
}
