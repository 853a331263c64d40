// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// elected are the flags of a replica that takes over within seconds.
func elected() []string {
	return []string{
		"--leader-elect=true", "--leader-election-lease-duration=12s",
		"--leader-election-renew-deadline=10s", "--leader-election-retry-period=1s",
	}
}

var _ = Describe("Two managers at once", func() {
	var (
		leader, other *rig.Manager
		namespace     string
		policy        *v1alpha1.ClusterRegoPolicy
	)
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "leader")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 6)...)
		policy = fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Concurrent(2)))
		DeferCleanup(func(ctx context.Context) {
			lease := &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: "evenkeel-leader"}}
			Expect(suite.API.Delete(ctx, lease)).To(Succeed())
		})
		leader = suite.StartManager(ctx, elected()...)
		other = suite.NewManager(elected()...)
		Expect(other.Start(ctx)).To(Succeed())
	})

	fixed := func(ctx context.Context) {
		GinkgoHelper()
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(suite.Plans(ctx, policy.Name)).To(HaveLen(1))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 6}))
		counts := patched(namespace, slices.Concat(leader.Proxy.Writes(), other.Proxy.Writes()))
		Expect(counts).To(HaveLen(6))
		Expect(counts).To(HaveEach(1), "successful patches by UID")
	}

	It("only one writes, and the other goes on when it is killed in the middle of a rollout",
		func(ctx context.Context) {
			killed := leader.Proxy.Nth(3, target(namespace), faultproxy.Fault{
				LoseAnswer: true, After: func(faultproxy.Request, faultproxy.Answer) { crash(leader) },
			})
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, killed.Hits).Should(Equal(1))
			Expect(patched(namespace, other.Proxy.Writes())).To(
				BeEmpty(), "the follower wrote while there was a leader")
			fixed(ctx)
			Expect(patched(namespace, other.Proxy.Writes())).NotTo(BeEmpty())
		})

	It("a write of the old leader that arrives after the new one took over is refused by its guards",
		func(ctx context.Context) {
			held, release := make(chan struct{}), make(chan struct{})
			letGo := sync.OnceFunc(func() { close(release) })
			DeferCleanup(letGo)
			late := leader.Proxy.Nth(3, target(namespace), faultproxy.Fault{Before: func(faultproxy.Request) {
				close(held)
				<-release
			}})
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, held).Should(BeClosed())
			leases := func(r faultproxy.Request) bool { return r.Resource == "leases" }
			leader.Proxy.Every(leases, faultproxy.Fault{LoseRequest: true})
			suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(late.Hits()).To(Equal(1))
			sent := func() []faultproxy.Write {
				return slices.DeleteFunc(leader.Proxy.Writes(), func(w faultproxy.Write) bool {
					return !target(namespace)(w.Request)
				})
			}
			Expect(sent()).To(HaveLen(2))
			letGo()
			Eventually(ctx, sent).Should(HaveLen(3))
			Expect(sent()[2].Status).To(BeElementOf(http.StatusConflict, http.StatusUnprocessableEntity))
			fixed(ctx)
			Eventually(ctx, leader.Running).Should(BeFalse(), "a manager that lost its lease goes on")
		})
})
