// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestDrawSaysUntilWhen(t *testing.T) {
	for name, tc := range map[string]struct {
		left      time.Duration
		want, not []string
	}{
		"the end is to come": {left: time.Hour, not: []string{"global is Closed"}, want: []string{
			"paused until 2027-01-07T08:00:00Z by ann: INC-42; resume: evenkeel rollout resume",
			"global is held open by a person until 2027-01-07T08:00:00Z (bob: INC-43); release:",
			"until 2027-01-07T08:00:00Z by ann: INC-42"}},
		"the end has come": {want: []string{"global is Closed"}, not: []string{"resume", "held open by a person"}},
	} {
		t.Run(name, func(t *testing.T) {
			end := &metav1.Time{Time: time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)}
			r := fleet(1, 3)
			r.Now = end.Add(-tc.left)
			r.Remediation.Status.Phase = v1alpha1.PhaseHeld
			spec := &r.Remediation.Spec
			spec.DesiredState, spec.PausedUntilTime = v1alpha1.StatePaused, end
			recorded.Requests(r.Remediation, v1alpha1.RequestRecord{Action: v1alpha1.ActionPause, User: "ann",
				Reason: "INC-42", UntilTime: end})
			cb := &r.Breakers[0].Spec
			cb.Mode, cb.ForcedOpenUntilTime = v1alpha1.BreakerForcedOpen, end
			recorded.Requests(&r.Breakers[0], v1alpha1.RequestRecord{Action: v1alpha1.ActionForceOpen, User: "bob",
				Reason: "INC-43", UntilTime: end})
			drawn := strings.Join(r.Draw(display.Style{}), "\n")
			for _, want := range tc.want {
				if !strings.Contains(drawn, want) {
					t.Errorf("%q isn't in\n%s", want, drawn)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(drawn, not) {
					t.Errorf("%q is in\n%s", not, drawn)
				}
			}
		})
	}
}
