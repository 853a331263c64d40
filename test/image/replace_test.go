// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("Two replicas that run out of the image", func() {
	It("are replaced one after the other under 200 admission requests a second, and none fails",
		func(ctx context.Context) {
			b := startBalancer()
			old := []*replica{startReplica(ctx, b, "evenkeel-a"), startReplica(ctx, b, "evenkeel-b")}
			for _, r := range old {
				r.awaitServing(ctx)
				expectConfined(r.inner)
			}
			enforce(ctx, old)
			clients := startTraffic(ctx)
			clients.awaitMore(ctx, rate)
			for i, r := range old {
				// maxUnavailable is 0 and maxSurge 1: the new one serves before the old one ends.
				next := startReplica(ctx, b, fmt.Sprintf("evenkeel-%c", 'c'+i))
				next.awaitServing(ctx)
				next.expectJudging(ctx)
				took := r.terminate(ctx)
				AddReportEntry(r.name, fmt.Sprintf("ended %s after SIGTERM", took.Round(time.Millisecond)))
				clients.awaitMore(ctx, rate)
			}
			clients.stop()
			AddReportEntry("requests", clients.String())
			GinkgoWriter.Println(clients, b.led)
			Expect(clients.lost).To(BeEmpty())
			Expect(b.failures()).To(BeEmpty(), "the manifests' preStop hook outlasts the endpoints' propagation")
			Expect(clients.denied.Load() + clients.allowed.Load()).To(Equal(clients.sent.Load()))
			Expect(clients.sent.Load()).To(BeNumerically(">", 10*rate))
			Expect(clients.refused.Load()).To(BeNumerically(">", 10))
		})
})

// guarded is the namespace that the policy is about.
const guarded = "guarded"

// enforce has each Deployment of the namespace need a label, and nothing pass unjudged.
func enforce(ctx context.Context, replicas []*replica) {
	GinkgoHelper()
	kubectl(ctx, "create", "namespace", guarded)
	policy := fixture.Policy(guarded, guarded, fixture.RequireTemplateLabel("team", "core"),
		fixture.Kinds("apps", "Deployment"),
		fixture.Unselected, fixture.Enforced(v1alpha1.AdmissionDeny), fixture.OnFailure(v1alpha1.FailurePolicyFail))
	Expect(api.Create(ctx, policy)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(api.Delete(ctx, policy))).To(Succeed()) })
	bad, _ := object(1)
	Eventually(ctx, func() error {
		return api.Create(ctx, bad.DeepCopy(), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("label team is missing")))
	for _, r := range replicas {
		Eventually(ctx, func(g Gomega) {
			g.Expect(r.verdict(ctx)).To(ContainSubstring("label team is missing"))
		}).Should(Succeed(), r.name)
	}
}

// expectJudging fails unless a replica that says it is ready has the policy in force.
func (r *replica) expectJudging(ctx context.Context) {
	GinkgoHelper()
	Expect(r.verdict(ctx)).To(ContainSubstring("label team is missing"), r.name)
}

// verdict is what the replica itself says of an object that doesn't comply, or nothing
// where it lets it pass.
func (r *replica) verdict(ctx context.Context) (string, error) {
	asked := newReviewer(ctx)
	asked.url = strings.Replace(asked.url, fmt.Sprint(r.balancer.port()), r.port(), 1)
	bad, _ := object(1)
	allowed, message, err := asked.ask(ctx, bad)
	if allowed {
		message = ""
	}
	return message, err
}
