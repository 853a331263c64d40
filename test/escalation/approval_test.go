// SPDX-License-Identifier: Apache-2.0

package escalation_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("A plan that nobody answers", func() {
	It("is told once its time has passed, and is over when nobody wants it any more", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "unanswered")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
		const timeout = 2 * time.Second
		policy := fixture.Policy(namespace, namespace, fixture.FixState, owner("shop"),
			fixture.Remediated(v1alpha1.RemediationManual, func(s *fixture.Rollout) {
				s.Approval.Timeout = metav1.Duration{Duration: timeout}
			}))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAwaitingApproval)

		labels := map[string]string{"alertname": "EvenkeelApprovalOverdue", "policy": policy.Name}
		Eventually(ctx, func() []rig.Notification { return first.inbox.Of("firing", labels) }).Should(HaveLen(1))
		told := first.inbox.Of("firing", labels)[0]
		Expect(told.Receiver).To(Equal("shop"))
		Expect(told.StartsAt).To(BeTemporally("~", rem.Status.HeldTime.Add(timeout), time.Millisecond))
		Expect(told.Annotations["description"]).To(ContainSubstring("evenkeel rollout approve " + rem.Name))

		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Remediation.Mode = v1alpha1.RemediationDisabled
		})
		Eventually(ctx, func() []rig.Notification { return first.inbox.Of("resolved", labels) }).Should(HaveLen(1))
	})
})
