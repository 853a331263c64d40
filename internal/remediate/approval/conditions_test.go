// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"flag"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/test/kstatus"
)

var update = flag.Bool("update", false, "write docs/reference/conditions.md anew")

func TestConditionsOfAnswers(t *testing.T) {
	plan := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "plan"}}
	state := func(name, reason string) kstatus.State[*v1alpha1.RemediationApproval] {
		set := func(a *v1alpha1.RemediationApproval, now time.Time) {
			refused := canary.Refusal{}
			if reason != v1alpha1.ReasonInEffect {
				refused = canary.Refusal{Reason: reason, Message: "answer anew"}
			}
			setStatus(a, plan, refused, now)
		}
		return kstatus.State[*v1alpha1.RemediationApproval]{Name: name, Object: &v1alpha1.RemediationApproval{},
			Set: set}
	}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.RemediationApproval]{
		state("the plan acts by it", v1alpha1.ReasonInEffect),
		state("there is no such plan", v1alpha1.ReasonPlanNotFound),
		state("it is to another plan of that name", v1alpha1.ReasonPlanMismatch),
		state("the plan awaits no answer", v1alpha1.ReasonNotAwaited),
		state("somebody else has answered before", v1alpha1.ReasonAlreadyAnswered),
		state("the policy's author may not approve", v1alpha1.ReasonSelfApproval),
		state("who wrote the policy isn't known", v1alpha1.ReasonAuthorUnknown),
		state("who answers isn't known", v1alpha1.ReasonApproverUnknown),
		state("it can't be read", v1alpha1.ReasonInvalid),
	})
}
