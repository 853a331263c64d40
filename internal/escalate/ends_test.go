// SPDX-License-Identifier: Apache-2.0

package escalate_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestAlertsSayUntilWhen(t *testing.T) {
	const message = "a person has paused the rollout until 2027-01-07T08:00:00Z (ann: INC-42)"
	held := func(left time.Duration) v1alpha1.RemediationBreaker {
		return breaker(v1alpha1.BreakerScopeGlobal, "", v1alpha1.BreakerClosed, func(cb *v1alpha1.RemediationBreaker) {
			end := metav1.NewTime(now.Add(left))
			cb.Spec.Mode, cb.Spec.ForcedOpenUntilTime = v1alpha1.BreakerForcedOpen, &end
			recorded.Requests(cb, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionForceOpen, User: "ann",
				Reason: "INC-42", RequestTime: metav1.NewTime(now.Add(-time.Hour)), UntilTime: &end}}...)
		})
	}
	paused := plan("a", v1alpha1.PhaseHeld, heldSince(time.Hour), reason(v1alpha1.ReasonPaused),
		func(r *v1alpha1.Remediation) { r.Status.Message = message })
	state := escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy()},
		Remediations: []v1alpha1.Remediation{paused}, Breakers: []v1alpha1.RemediationBreaker{held(time.Hour)}}
	until := " until " + now.Add(time.Hour).UTC().Format(time.RFC3339)
	want := map[string]string{escalate.AlertRemediationHeld: message,
		escalate.AlertBreakerOpen: "A person holds it open" + until + ", the kill switch (ann: INC-42)"}
	for _, a := range escalate.Alerts(state, now, options()) {
		if text := want[a.Name]; text == "" || !strings.Contains(a.Description, text) {
			t.Errorf("%s says %q, want %q", a.Name, a.Description, text)
		}
		delete(want, a.Name)
	}
	if len(want) > 0 {
		t.Errorf("no alert says %v", want)
	}
	state = escalate.State{Breakers: []v1alpha1.RemediationBreaker{held(0)}}
	if alerts := escalate.Alerts(state, now, options()); len(alerts) > 0 {
		t.Errorf("a hold that has ended is an alert: %+v", alerts)
	}
}
