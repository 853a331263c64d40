// SPDX-License-Identifier: Apache-2.0

package escalate_test

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
)

// An alert tells objects that were fixed and set back by somebody else from those that
// couldn't be fixed, with whoever did it.
func TestAnAlertTellsAFightFromAFixThatFailed(t *testing.T) {
	fight := record(v1alpha1.TargetFailed, v1alpha1.ReasonFighting, "night-job set /spec/replicas back")
	denied := record(v1alpha1.TargetFailed, v1alpha1.ReasonAdmissionDenied, "denied")
	for name, tc := range map[string]struct {
		records []v1alpha1.TargetRecord
		end     string
		failed  int32
		summary string
		says    []string
	}{
		"no fight": {[]v1alpha1.TargetRecord{denied, denied}, v1alpha1.ReasonSomeTargetsFailed, 2,
			"2 objects couldn't be fixed by plan a of policy labels",
			[]string{"see the reason of each object; to try"}},
		"fights alone": {[]v1alpha1.TargetRecord{fight, fight}, v1alpha1.ReasonSomeTargetsFailed, 2,
			"2 objects were fixed by plan a of policy labels, and reverted in a fight",
			[]string{"night-job set /spec/replicas back", "it names the field manager that reverted it",
				"tried again by"}},
		"both": {[]v1alpha1.TargetRecord{fight, denied, denied}, v1alpha1.ReasonSomeTargetsFailed, 3,
			"2 objects couldn't be fixed by plan a of policy labels, and 1 was fixed and reverted in a fight",
			[]string{"night-job set /spec/replicas back"}},
		"every candidate": {[]v1alpha1.TargetRecord{fight}, v1alpha1.ReasonNoViableCanary, 10,
			"9 objects couldn't be fixed by plan a of policy labels, and 1 was fixed and reverted in a fight",
			[]string{"the fix failed on every candidate"}},
		"every candidate, by a fight": {[]v1alpha1.TargetRecord{fight, fight, fight, fight, fight, fight, fight, fight,
			fight, fight}, v1alpha1.ReasonLostToFights, 10,
			"10 objects were fixed by plan a of policy labels, and reverted in a fight",
			[]string{"isn't tried again by itself: every candidate was reverted by somebody else",
				"night-job set /spec/replicas back"}},
		"most candidates, by a fight": {[]v1alpha1.TargetRecord{fight, fight, fight, fight, fight, fight, denied,
			denied,
			denied, denied}, v1alpha1.ReasonLostToFights, 10,
			"4 objects couldn't be fixed by plan a of policy labels, and 6 were fixed and reverted in a fight",
			[]string{"isn't tried again by itself: most candidates were reverted by somebody else"}},
	} {
		t.Run(name, func(t *testing.T) {
			phase := v1alpha1.PhaseSucceeded
			if tc.end != v1alpha1.ReasonSomeTargetsFailed {
				phase = v1alpha1.PhaseAborted
			}
			p := plan("a", phase, completed(time.Minute), reason(tc.end),
				counts(v1alpha1.TargetCounts{Failed: tc.failed}))
			alerts := escalate.Alerts(escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy()},
				Remediations: []v1alpha1.Remediation{p}, Evidence: map[string]escalate.Evidence{
					"a": escalate.EvidenceOf(p.Status, []v1alpha1.RemediationSlice{slice(tc.records...)})}},
				now, options())
			if len(alerts) != 1 || alerts[0].Summary != tc.summary {
				t.Fatalf("the alerts are %+v, want %s", alerts, tc.summary)
			}
			for _, text := range tc.says {
				if !strings.Contains(alerts[0].Description, text) {
					t.Errorf("%q isn't in:\n%s", text, alerts[0].Description)
				}
			}
		})
	}
}
