// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestABreakersStatusIsTrueWhileAPersonHoldsItOpen(t *testing.T) {
	type status = v1alpha1.RemediationBreakerStatus
	within := status{State: v1alpha1.BreakerClosed, Failures: 1, Outcomes: 9, Reason: v1alpha1.ReasonWithinLimits,
		Message: messageWithinLimits}
	held := status{State: v1alpha1.BreakerClosed, Failures: 1, Outcomes: 9, Reason: v1alpha1.ReasonForcedOpen,
		Message: messageHeldOpen}
	open := status{State: v1alpha1.BreakerOpen, Reason: "Failures", Message: "open"}
	cases := map[string]struct {
		in, want status
		forced   bool
	}{
		"held, and closed by itself":    {within, held, true},
		"still held":                    {held, held, true},
		"let go of":                     {held, within, false},
		"not held":                      {within, within, false},
		"held, and open by itself":      {open, open, true},
		"let go of, and open by itself": {open, open, false},
		"opened by itself while held, and let go of": {status{State: v1alpha1.BreakerOpen, Reason: "Failures"},
			status{State: v1alpha1.BreakerOpen, Reason: "Failures"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Held(tc.in, tc.forced)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
