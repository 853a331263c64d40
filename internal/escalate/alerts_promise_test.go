// SPDX-License-Identifier: Apache-2.0

package escalate_test

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
)

// An alert says that a plan is made again by itself if, and only if, it is.
func TestWhatAnAlertPromisesIsTrue(t *testing.T) {
	ten := counts(v1alpha1.TargetCounts{Failed: 10})
	cases := map[string]struct {
		reason string
		plan   v1alpha1.Remediation
		alert  string
	}{
		"a fix that fails on every candidate": {
			"the revision is blocked",
			plan("a", v1alpha1.PhaseAborted, completed(time.Minute), reason(v1alpha1.ReasonNoViableCanary), ten),
			escalate.AlertRemediationFailedTargets},
		"an outage": {
			"the plan is made again",
			plan("a", v1alpha1.PhaseAborted, completed(time.Minute), reason(v1alpha1.ReasonNoAnswer), ten),
			escalate.AlertRemediationFailedTargets},
		"some targets of many": {
			"they are tried again", plan("a", v1alpha1.PhaseSucceeded, completed(time.Minute),
				counts(v1alpha1.TargetCounts{Done: 5, Failed: 2})), escalate.AlertRemediationFailedTargets},
		"a wave that did harm": {
			"the revision is blocked",
			plan("a", v1alpha1.PhaseRolledBack, completed(time.Minute), reason(v1alpha1.ReasonVerificationFailed)),
			escalate.AlertRemediationRolledBack},
		"a wave that couldn't be read": {
			"the plan is made again",
			plan("a", v1alpha1.PhaseRolledBack, completed(time.Minute), reason(v1alpha1.ReasonNoAnswer)),
			escalate.AlertRemediationRolledBack},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			alerts := escalate.Alerts(
				escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy()},
					Remediations: []v1alpha1.Remediation{tc.plan}}, now, options())
			if len(alerts) != 1 || alerts[0].Name != tc.alert {
				t.Fatalf("the alerts are %+v, want %s", alerts, tc.alert)
			}
			text := alerts[0].Description
			never := strings.Contains(text, "isn't tried again by itself")
			again := strings.Contains(text, "made by itself") || strings.Contains(text, "tried again by themselves")
			if blocks := tc.plan.Status.BlocksReplanning(); blocks != never || blocks == again {
				t.Errorf("%s, and the alert says:\n%s", tc.reason, text)
			}
		})
	}
}

// The API server tells creation in whole seconds: the next plan may seem older than the end of
// the one before.
func TestAPlanMadeWithinTheSecondOfAnOutageEndsItsAlert(t *testing.T) {
	// before now: the plan after it is created in the second that began 900 ms earlier
	end := time.Minute + 100*time.Millisecond
	out := plan("a", v1alpha1.PhaseAborted, completed(end), reason(v1alpha1.ReasonNoAnswer),
		counts(v1alpha1.TargetCounts{Failed: 10}))
	next := plan("b", v1alpha1.PhaseSucceeded, created(time.Minute+time.Second), completed(30*time.Second),
		counts(v1alpha1.TargetCounts{Done: 10}))
	alerts := escalate.Alerts(
		escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy()},
			Remediations: []v1alpha1.Remediation{out, next}}, now, options())
	if len(alerts) != 0 {
		t.Errorf("all is fixed, and the alerts are %+v", alerts)
	}
}
