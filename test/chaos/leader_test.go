// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("Two leaders at once", func() {
	// elected are the flags of a replica that takes over within seconds.
	elected := []string{
		"--leader-elect=true", "--leader-election-lease-duration=12s",
		"--leader-election-renew-deadline=10s", "--leader-election-retry-period=1s",
	}
	It("the old leader loses its lease with a write under way, which arrives after the new one took over",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			DeferCleanup(func(ctx context.Context) {
				lease := &coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: "evenkeel-leader"}}
				Expect(suite.API.Delete(ctx, lease)).To(Succeed())
			})
			leader := suite.StartManager(ctx, elected...)
			other := suite.NewManager(elected...)
			Expect(other.Start(ctx)).To(Succeed())
			e := begin("lease lost with a write under way: two leaders", leader, other)
			r := e.roll(ctx, fixable{6})
			held, release := make(chan struct{}), make(chan struct{})
			letGo := sync.OnceFunc(func() { close(release) })
			DeferCleanup(letGo)
			leader.Proxy.Nth(3, r.target, faultproxy.Fault{Before: func(faultproxy.Request) {
				close(held)
				<-release
			}})
			r.start(ctx)
			Eventually(ctx, held).Should(BeClosed())
			leader.Proxy.Every(func(q faultproxy.Request) bool {
				return q.Resource == "leases"
			}, faultproxy.Fault{LoseRequest: true})
			suite.AwaitPhase(ctx, r.policyOf.Name, v1alpha1.PhaseSucceeded)
			arrived := len(leader.Proxy.Writes())
			letGo()
			Eventually(ctx, func() int { return len(leader.Proxy.Writes()) }).Should(BeNumerically(">", arrived))
			r.await(ctx, v1alpha1.PhaseSucceeded)
			e.end()
		})
})
