// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestABreakersStatusIsTrueWhileAPersonHoldsItOpen(t *testing.T) {
	type status = v1alpha1.RemediationBreakerStatus
	within := status{State: v1alpha1.BreakerClosed, Failures: 1, Outcomes: 9, Reason: v1alpha1.ReasonWithinLimits,
		Message: messageWithinLimits}
	held := status{State: v1alpha1.BreakerClosed, Failures: 1, Outcomes: 9, Reason: v1alpha1.ReasonForcedOpen,
		Message: messageHeldOpen(nil)}
	until := held
	until.Message = "A person holds the breaker open until 2027-01-07T08:00:00Z: no new write begins in its scope; " +
		"rollbacks go on."
	end := time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)
	open := status{State: v1alpha1.BreakerOpen, Reason: "Failures", Message: "open"}
	cases := map[string]struct {
		in, want status
		forced   bool
		// left is how much is left of the hold; zero for one without an end.
		left time.Duration
	}{
		"held, and closed by itself":    {within, held, true, 0},
		"still held":                    {held, held, true, 0},
		"held until an end":             {within, until, true, 1},
		"held anew, until an end":       {held, until, true, 1},
		"its end has come":              {until, within, true, -1},
		"let go of":                     {held, within, false, 0},
		"not held":                      {within, within, false, 0},
		"held, and open by itself":      {open, open, true, 0},
		"its end has come, and open":    {open, open, true, -1},
		"let go of, and open by itself": {open, open, false, 0},
		"opened by itself while held, and let go of": {status{State: v1alpha1.BreakerOpen, Reason: "Failures"},
			status{State: v1alpha1.BreakerOpen, Reason: "Failures"}, false, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.RemediationBreakerSpec{}
			if tc.forced {
				spec.Mode = v1alpha1.BreakerForcedOpen
			}
			if tc.left != 0 {
				spec.ForcedOpenUntilTime = &metav1.Time{Time: end}
			}
			if diff := cmp.Diff(tc.want, Held(tc.in, spec, end.Add(-tc.left))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
