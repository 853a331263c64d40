// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"fmt"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func TestProtocolLeavesWaivedObjectsAlone(t *testing.T) {
	cases := map[string]struct {
		reason string
		policy string
		until  time.Time
		want   string
	}{
		"a waived target is skipped, by name of the waiver": {
			policy: "owner", until: fixtest.Now.Add(time.Hour),
			want: "Skipped Waived: ClusterWaiver legacy until 2026-03-01T13:00:00Z covers the object: moves next " +
				"quarter"},
		"at its expiry the target is fixed": {
			reason: "the same moment as everywhere", policy: "owner", until: fixtest.Now},
		"a waiver of another policy is none": {policy: "team", until: fixtest.Now.Add(time.Hour)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attemptAt(fixtest.Waived(t, tc.policy, tc.until), fixtest.Widget(map[string]any{}))
			got := ""
			if rec := JudgeAgain(t.Context(), a); rec != nil {
				got = fmt.Sprintf("%s %s: %s", rec.State, rec.Reason, rec.Message)
			}
			if got != tc.want || (got == "") != (len(a.decision.Actions) > 0) {
				t.Errorf("%s: got %q with %d actions, want %q", tc.reason, got, len(a.decision.Actions), tc.want)
			}
		})
	}
}

func TestAFixMayBringAWaivedViolation(t *testing.T) {
	for reason, until := range map[string]time.Time{
		"": fixtest.Now.Add(time.Hour), v1alpha1.ReasonFixBreaksPolicy: fixtest.Now} {
		a := attemptAt(fixtest.Waived(t, "team", until), fixtest.Widget(map[string]any{"team": "x"}))
		a.Patched = fixtest.Widget(map[string]any{"owner": "x"}).Object
		got := ""
		if rec := PassEveryPolicy(t.Context(), a); rec != nil {
			got = rec.Reason
		}
		if got != reason {
			t.Errorf("with a waiver until %s the fix that takes the label team off is %q, want %q", until, got, reason)
		}
	}
}
