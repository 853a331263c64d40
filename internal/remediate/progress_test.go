// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

func TestWhatIsProgress(t *testing.T) {
	at := microTime(breakertest.Noon)
	counts := v1alpha1.TargetCounts{Pending: 5, InFlight: 2, Done: 3}
	was := v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseApplying, Wave: 1, ProgressedTime: at, Counts: counts}
	held, awaiting, paused, frozen := was, was, was, was
	held.Phase, awaiting.Phase = v1alpha1.PhaseHeld, v1alpha1.PhaseAwaitingApproval
	paused.Phase, paused.Reason = v1alpha1.PhaseHeld, v1alpha1.ReasonPaused
	frozen.Phase, frozen.Reason = v1alpha1.PhaseHeld, v1alpha1.ReasonFrozen
	stay := rollout.Intent{Phase: v1alpha1.PhaseApplying, Wave: 1}
	cases := map[string]struct {
		was    v1alpha1.RemediationStatus
		intent rollout.Intent
		counts v1alpha1.TargetCounts
		want   bool
	}{
		"a new plan":    {v1alpha1.RemediationStatus{}, stay, counts, true},
		"nothing":       {was, stay, counts, false},
		"a hold begins": {was, rollout.Intent{Phase: v1alpha1.PhaseHeld, Wave: 1}, counts, false},
		"a hold ends":   {held, stay, counts, false},
		"a soak breaks": {was, rollout.Intent{Phase: v1alpha1.PhaseVerifying, Wave: 1}, counts,
			false},
		"a target is begun": {was, stay, v1alpha1.TargetCounts{Pending: 4, InFlight: 3, Done: 3}, true},
		"a target goes back to be tried": {was, stay, v1alpha1.TargetCounts{Pending: 6, InFlight: 1, Done: 3},
			false},
		"a target is done": {was, stay, v1alpha1.TargetCounts{Pending: 5, InFlight: 1, Done: 4}, true},
		"a target is undone": {
			was, stay, v1alpha1.TargetCounts{Pending: 5, InFlight: 1, Done: 3, Reverted: 1}, true},
		"a wave begins": {was, rollout.Intent{Phase: v1alpha1.PhaseApplying, Wave: 2}, counts,
			true},
		"a rollback begins": {was, rollout.Intent{Phase: v1alpha1.PhaseRollingBack, Wave: 1}, counts,
			true},
		"a person says yes": {awaiting, stay, counts, true},
		"a person still hasn't": {awaiting, rollout.Intent{Phase: v1alpha1.PhaseAwaitingApproval, Wave: 1},
			counts, false},
		"a person lets it go on": {paused, stay, counts, true},
		"a pause ends, and a breaker opens": {
			paused, rollout.Intent{Phase: v1alpha1.PhaseHeld, Wave: 1, Reason: v1alpha1.ReasonBreakerOpen}, counts,
			true},
		"a freeze ends": {frozen, stay, counts, true},
		"a freeze lasts": {frozen, rollout.Intent{Phase: v1alpha1.PhaseHeld, Wave: 1, Reason: v1alpha1.ReasonFrozen},
			counts, false},
		"a person has it verified anew": {held, rollout.Intent{Phase: v1alpha1.PhaseVerifying, Wave: 1, Retry: "1"},
			counts, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := rollout.Progressed(&tc.was, tc.intent, tc.counts); got != tc.want {
				t.Errorf("progress %t, want %t", got, tc.want)
			}
		})
	}
}

// Metrics that answer on and off for hours, a budget that another plan uses up: the
// plan comes and goes between phases, and says all the while since when it waits.
func TestAPlanThatGoesToAndFroMakesNoProgress(t *testing.T) {
	t.Parallel()
	onAndOff := func(s *simulation) {
		answers(0, 0, "", "")(s)
		well := s.metrics
		s.metrics = func(s *simulation) rollout.Analysis {
			if at := s.since(); at > time.Minute && at%(20*time.Second) < 10*time.Second {
				return rollout.Analysis{Verdict: v1alpha1.AnalysisInconclusive, Message: "no answer",
					Wait: 5 * time.Second}
			}
			return well(s)
		}
	}
	cases := map[string]struct {
		reason string
		fleet  fleet
		set    func(*simulation)
		phases int // at least
	}{
		"metrics on and off": {"the soak begins anew each time", newFleet(2).with(measured), onAndOff, 2},
		"a budget is spent": {"it waits for room", newFleet(4).with(withBudget(2, 0)), another(0, 100*time.Hour, 2),
			1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := newSimulation(tc.fleet)
			if err != nil {
				t.Fatal(err)
			}
			tc.set(s)
			seen := map[v1alpha1.RemediationPhase]bool{}
			for s.since() < 5*time.Hour && !s.rem.Status.Phase.Final() {
				wait, err := s.step()
				if err != nil {
					t.Fatal(err)
				}
				if s.since() > 2*time.Minute {
					seen[s.rem.Status.Phase] = true
				}
				s.clock.SetTime(s.clock.Now().Add(wait))
			}
			if waits := s.clock.Now().Sub(s.rem.Status.ProgressedTime.Time); waits < 4*time.Hour ||
				len(seen) < tc.phases {
				t.Errorf("%s: after %s in phases %v, progress is said to have been %s ago", tc.reason, s.since(), seen,
					waits)
			}
		})
	}
}
