// SPDX-License-Identifier: Apache-2.0

package escalate_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
)

func progress(ago time.Duration) func(*v1alpha1.Remediation) {
	return func(r *v1alpha1.Remediation) {
		at := metav1.NewMicroTime(now.Add(-ago))
		r.Status.ProgressedTime = &at
	}
}

func TestAPlanThatMakesNoProgressIsAnAlert(t *testing.T) {
	none := escalate.AlertRemediationNoProgress
	inFlight := func(r *v1alpha1.Remediation) {
		r.Status.Counts.InFlight = 1
		r.Spec.Plan.Waves[0].Soak.Duration, r.Spec.Plan.Rollout.ProgressDeadline.Duration = time.Hour, 10*time.Minute
	}
	nightly := func(d time.Duration) func(*v1alpha1.Remediation) {
		return func(r *v1alpha1.Remediation) {
			r.Spec.Plan.Rollout.Windows = []v1alpha1.PlannedWindow{
				{Schedule: "0 22 * * *", Duration: metav1.Duration{Duration: d}}}
		}
	}
	day := 24 * time.Hour
	cases := map[string]struct {
		reason string
		plan   v1alpha1.Remediation
		want   string
	}{
		"a budget is spent for 30 days": {
			"nothing was begun", plan("a", v1alpha1.PhaseApplying, progress(30*day),
				reason(v1alpha1.ReasonBudgetSpent)), none},
		"a budget is spent for an hour less": {
			"twice 30 minutes", plan("a", v1alpha1.PhaseApplying, progress(59*time.Minute)), ""},
		"held a moment ago, and again and again": {
			"what counts is the progress", plan("a", v1alpha1.PhaseHeld, heldSince(time.Second), progress(2*time.Hour)),
			none},
		"held all the time": {
			"that is an alert of its own, and says why",
			plan("a", v1alpha1.PhaseHeld, heldSince(2*time.Hour), progress(2*time.Hour)),
			escalate.AlertRemediationHeld},
		"in flight, within its soak": {
			"the rollout bounds that itself", plan("a", v1alpha1.PhaseSoaking, progress(4*time.Hour), inFlight), ""},
		"in flight, for longer than it may": {
			"metrics answer on and off", plan("a", v1alpha1.PhaseSoaking, progress(5*time.Hour), inFlight), none},
		"an approval is awaited": {
			"that is an alert of its own",
			plan("a", v1alpha1.PhaseAwaitingApproval, heldSince(time.Minute), progress(30*day)), ""},
		"a person has paused it a moment ago": {
			"it is that person's to know of",
			plan("a", v1alpha1.PhaseHeld, heldSince(time.Minute), progress(30*day), reason(v1alpha1.ReasonPaused)), ""},
		"it waits for its window by design": {
			"no window has been open since",
			plan("a", v1alpha1.PhaseHeld, heldSince(9*time.Hour), progress(9*time.Hour),
				reason(v1alpha1.ReasonOutsideWindow), nightly(time.Hour)), ""},
		"windows come and go without any progress": {
			"they were open for an hour in all",
			plan("a", v1alpha1.PhaseHeld, heldSince(9*time.Hour), progress(30*day),
				reason(v1alpha1.ReasonOutsideWindow), nightly(5*time.Minute)), none},
		"it has ended": {
			"nothing is awaited", plan("a", v1alpha1.PhaseSucceeded, completed(30*day), progress(30*day)), ""},
		"a slow rollback": {
			"it goes on, one target at a time", plan("a", v1alpha1.PhaseRollingBack, progress(time.Minute)), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			alerts := escalate.Alerts(
				escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy()},
					Remediations: []v1alpha1.Remediation{tc.plan}}, now, options())
			got := ""
			for _, a := range alerts {
				got = a.Name
			}
			if got != tc.want || len(alerts) > 1 {
				t.Errorf("%s: the alert is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
