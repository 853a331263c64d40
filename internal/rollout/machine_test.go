// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestStepErrsOnAPhaseThatHasNoRow(t *testing.T) {
	for _, phase := range []v1alpha1.RemediationPhase{v1alpha1.PhasePreviewed, "Unheard"} {
		if intent, err := Step(situation(phase, 0)); err == nil {
			t.Errorf("%s: got %s, want an error", phase, told(intent))
		}
	}
	// A hold may lead back to Verifying only with something that was written.
	o := situation(v1alpha1.PhasePlanned, 0, target(0, written))
	o.Abort = "ada ends it"
	if intent, err := Step(o); err == nil {
		t.Errorf("a plan that hasn't begun can't be rolled back: got %s, want an error", told(intent))
	}
}

// While a write whose answer was lost may still arrive, a plan neither ends nor rests.
func TestStepAfterLandings(t *testing.T) {
	paused := func(o *Observation) {
		o.Gate = Gate{Closed: true, Reason: v1alpha1.ReasonPaused, Message: "ada has paused it"}
	}
	stopped := func(o *Observation) {
		o.Stop, o.Status.Reason, o.Status.Message = "the policy has changed", "Before", "as it was"
	}
	late := target(1, pending, lands(time.Minute), again(20*time.Second))
	now := target(1, pending, lands(time.Minute), again(0))
	runSteps(t, map[string]step{
		"it would be held": {
			reason: "it waits until the next look", in: situation(v1alpha1.PhaseApplying, 1, target(0, done), late,
				target(1, pending, lands(time.Minute), again(10*time.Second)),
				target(1, pending, lands(time.Minute), again(30*time.Second))),
			given: paused,
			want: "Applying w1 : wave 1 of 2: waiting until a write whose answer was lost can't reach its object any " +
				"more: Deployment shop/b | wait 10s"},
		"the canary would be held": {
			reason: "the first that may arrive is named",
			in: situation(v1alpha1.PhaseApplying, 0, target(0, pending, lands(time.Minute), again(time.Second)),
				target(0, pending, lands(time.Minute), again(time.Minute))),
			given: paused,
			want: "Applying w0 : canary: waiting until a write whose answer was lost can't reach its object any " +
				"more: Deployment shop/a | wait 1s"},
		"it would be held, and one is due": {
			reason: "that one is found out about",
			in:     situation(v1alpha1.PhaseApplying, 1, target(0, done), late, now),
			given:  paused,
			want: "Applying w1 : wave 1 of 2: waiting until a write whose answer was lost can't reach its object any " +
				"more: Deployment shop/b | resolve [2]"},
		"it would be held, and nothing can arrive": {
			reason: "it is held",
			in: situation(v1alpha1.PhaseApplying, 1, target(0, done), target(1, pending, again(time.Minute)),
				target(1, skipped, lands(time.Minute))),
			given: paused, want: "Held w1 Paused: ada has paused it | from Applying | wait 5s"},
		"it would end": {
			reason: "it goes on to look", in: situation(v1alpha1.PhaseHeld, 1, late),
			given: func(o *Observation) { stopped(o); o.Status.HeldFrom = v1alpha1.PhaseApplying },
			want:  "Held w1 Before: as it was | from Applying | wait 20s"},
		"it is held on": {
			reason: "that isn't a rest that begins now", in: situation(v1alpha1.PhaseHeld, 1, late),
			given: func(o *Observation) { paused(o); o.Status.HeldFrom = v1alpha1.PhaseApplying },
			want:  "Held w1 Paused: ada has paused it | from Applying | wait 5s"},
		"it has ended": {
			reason: "it rests", in: situation(v1alpha1.PhaseAborted, 1, late),
			given: stopped, want: "Aborted w1 Before: as it was | wait 5s"},
		"it goes on": {
			reason: "it neither ends nor rests",
			in:     situation(v1alpha1.PhaseApplying, 1, target(0, done), target(1, pending, lands(time.Minute))),
			want:   "Applying w1 WaveInProgress: wave 1 of 2: writing 1 of 1 | write [1]"},
	})
}

func TestIdle(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		i      Intent
		want   bool
	}{
		"held": {"it waits for what lets a write begin", Intent{Phase: v1alpha1.PhaseHeld, Wait: 1},
			true},
		"asking": {"it waits for what lets a write begin", Intent{Phase: v1alpha1.PhaseAwaitingApproval,
			Wait: 1}, true},
		"soaking":     {"it waits for what was written", Intent{Phase: v1alpha1.PhaseSoaking, Wait: 1}, false},
		"ended":       {"it waits for nothing", Intent{Phase: v1alpha1.PhaseSucceeded, Wait: 1}, false},
		"at once":     {"it doesn't wait", Intent{Phase: v1alpha1.PhaseHeld}, false},
		"writing":     {"it writes", Intent{Phase: v1alpha1.PhaseApplying, Wait: 1, Write: []int{0}}, false},
		"finding out": {"it reads", Intent{Phase: v1alpha1.PhaseApplying, Wait: 1, Resolve: []int{0}}, false},
		"reverting":   {"it writes", Intent{Phase: v1alpha1.PhaseApplying, Wait: 1, Revert: []int{0}}, false},
		"trying":      {"it asks", Intent{Phase: v1alpha1.PhaseApplying, Wait: 1, Preview: []int{0}}, false},
		"marking":     {"it records", Intent{Phase: v1alpha1.PhaseApplying, Wait: 1, Marks: []Mark{{}}}, false},
		"writing and marking": {"both", Intent{Phase: v1alpha1.PhaseApplying, Wait: 1, Write: []int{0},
			Marks: []Mark{{}}}, false},
	} {
		if got := tc.i.Idle(); got != tc.want {
			t.Errorf("%s: %s: got %t, want %t", name, tc.reason, got, tc.want)
		}
	}
}

func TestOutcome(t *testing.T) {
	for kind, want := range map[circuit.EventType][2]bool{circuit.TargetSucceeded: {},
		circuit.TargetFailed:  {true, false},
		circuit.CanaryFailed:  {true, false},
		circuit.PlanSucceeded: {false, true}, circuit.PlanFailed: {false, true}} {
		if o := (Outcome{Type: kind}); o.Harmed() != want[0] || o.Ends() != want[1] {
			t.Errorf("%s: harmed %t and ends %t, want %v", kind, o.Harmed(), o.Ends(), want)
		}
	}
	for name, tc := range map[string]struct {
		count int32
		in    map[string]int32
		want  [][]string
	}{
		"one of two namespaces, nobody knows which": {1, map[string]int32{"b": 1, "a": 1}, [][]string{{"a", "b"}}},
		"one in each of two namespaces":             {2, map[string]int32{"b": 1, "a": 1}, [][]string{{"a"}, {"b"}}},
		"and one of cluster scope": {3, map[string]int32{"b": 1, "a": 1}, [][]string{{"a"}, {"b"},
			nil}},
		"three in one namespace": {3, map[string]int32{"a": 3}, [][]string{{"a"}}},
		"only of cluster scope":  {1, nil, [][]string{nil}},
		"of nothing":             {0, nil, [][]string{nil}},
	} {
		if diff := cmp.Diff(tc.want, Outcome{Count: tc.count, Namespaces: tc.in}.Places()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestProgressed(t *testing.T) {
	counts := v1alpha1.TargetCounts{Pending: 5, Done: 2, Skipped: 1, Failed: 1, Reverted: 1, RevertConflict: 1}
	status := func(with func(*v1alpha1.RemediationStatus)) *v1alpha1.RemediationStatus {
		s := &v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseApplying, Wave: 1, Counts: counts,
			ProgressedTime: ago(time.Hour)}
		if with != nil {
			with(s)
		}
		return s
	}
	but := func(with func(*v1alpha1.TargetCounts)) v1alpha1.TargetCounts {
		c := counts
		with(&c)
		return c
	}
	same := Intent{Phase: v1alpha1.PhaseApplying, Wave: 1}
	for name, tc := range map[string]struct {
		status *v1alpha1.RemediationStatus
		intent Intent
		now    v1alpha1.TargetCounts
		want   bool
	}{
		"nothing happens": {status(nil), same, counts, false},
		"it is new": {&v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseApplying, Wave: 1, Counts: counts},
			same, counts, true},
		"a wave begins": {status(nil), Intent{Phase: v1alpha1.PhaseApplying, Wave: 2}, counts, true},
		"a person asks again": {status(nil), Intent{Phase: v1alpha1.PhaseApplying, Wave: 1, Retry: "x"}, counts,
			true},
		"a target is begun":      {status(nil), same, but(func(c *v1alpha1.TargetCounts) { c.Pending-- }), true},
		"a target waits again":   {status(nil), same, but(func(c *v1alpha1.TargetCounts) { c.Pending++ }), false},
		"one is done":            {status(nil), same, but(func(c *v1alpha1.TargetCounts) { c.Done++ }), true},
		"one is skipped":         {status(nil), same, but(func(c *v1alpha1.TargetCounts) { c.Skipped++ }), true},
		"one fails":              {status(nil), same, but(func(c *v1alpha1.TargetCounts) { c.Failed++ }), true},
		"one is undone":          {status(nil), same, but(func(c *v1alpha1.TargetCounts) { c.Reverted++ }), true},
		"one can't be undone":    {status(nil), same, but(func(c *v1alpha1.TargetCounts) { c.RevertConflict++ }), true},
		"one is settled no more": {status(nil), same, but(func(c *v1alpha1.TargetCounts) { c.Done-- }), false},
		"a rollback begins":      {status(nil), Intent{Phase: v1alpha1.PhaseRollingBack, Wave: 1}, counts, true},
		"a rollback goes on": {status(func(s *v1alpha1.RemediationStatus) { s.Phase = v1alpha1.PhaseRollingBack }),
			Intent{Phase: v1alpha1.PhaseRollingBack, Wave: 1}, counts, false},
		"a phase comes and goes": {status(nil), Intent{Phase: v1alpha1.PhaseVerifying, Wave: 1}, counts, false},
		"a person has answered": {status(func(s *v1alpha1.RemediationStatus) {
			s.Phase = v1alpha1.PhaseAwaitingApproval
		}), same, counts, true},
		"nobody has answered": {status(func(s *v1alpha1.RemediationStatus) {
			s.Phase = v1alpha1.PhaseAwaitingApproval
		}),
			Intent{Phase: v1alpha1.PhaseAwaitingApproval, Wave: 1}, counts, false},
		"a person lets it go on": {status(func(s *v1alpha1.RemediationStatus) { s.Reason = v1alpha1.ReasonPaused }),
			same, counts, true},
		"it is paused on": {status(func(s *v1alpha1.RemediationStatus) { s.Reason = v1alpha1.ReasonPaused }),
			Intent{Phase: v1alpha1.PhaseHeld, Wave: 1, Reason: v1alpha1.ReasonPaused}, counts, false},
		"it ends": {status(nil), Intent{Phase: v1alpha1.PhaseAborted, Wave: 1}, counts, true},
	} {
		if got := Progressed(tc.status, tc.intent, tc.now); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

func TestRests(t *testing.T) {
	deleted := metav1.NewTime(noon)
	for name, tc := range map[string]struct {
		phase   v1alpha1.RemediationPhase
		state   v1alpha1.DesiredState
		done    int32
		deleted *metav1.Time
		want    bool
	}{
		"it is at work": {phase: v1alpha1.PhaseApplying, done: 1},
		"it has ended":  {phase: v1alpha1.PhaseSucceeded, done: 1, want: true},
		"a person wants it undone": {phase: v1alpha1.PhaseSucceeded, state: v1alpha1.StateUndone,
			done: 1},
		"a person wants nothing undone": {phase: v1alpha1.PhaseSucceeded, state: v1alpha1.StateUndone,
			want: true},
		"a person wants a dry run undone": {phase: v1alpha1.PhasePreviewed, state: v1alpha1.StateUndone,
			done: 1, want: true},
		"a person wants undone what is being deleted": {phase: v1alpha1.PhaseSucceeded, state: v1alpha1.StateUndone,
			done: 1, deleted: &deleted, want: true},
	} {
		rem := &v1alpha1.Remediation{}
		rem.Status.Phase, rem.Status.Counts.Done, rem.Spec.DesiredState, rem.DeletionTimestamp = tc.phase, tc.done,
			tc.state, tc.deleted
		if got := rem.Rests(); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

func TestGatesOfTheCalendar(t *testing.T) {
	rem := &v1alpha1.Remediation{}
	rem.Name, rem.Spec.Plan.Policy.Name = "limits-1", "limits"
	if gate := PausedBy(rem, noon); gate.Closed {
		t.Errorf("nobody has paused it, and it is closed: %+v", gate)
	}
	rem.Spec.DesiredState = v1alpha1.StatePaused
	if gate := PausedBy(rem, noon); !gate.Closed || gate.Reason != v1alpha1.ReasonPaused {
		t.Errorf("a person has paused it: got %+v", gate)
	}
	rem.Spec.PausedUntilTime = &metav1.Time{Time: noon.Add(time.Hour)}
	recorded.Requests(rem, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionPause, User: "ada", Reason: "INC-42"}}...)
	const want = "a person has paused the rollout until 2026-03-01T13:00:00Z (ada: INC-42); to go on: evenkeel " +
		"rollout resume limits-1"
	if gate := PausedBy(rem, noon.Add(time.Hour-1)); !gate.Closed || gate.Message != want {
		t.Errorf("a person has paused it until later: got %+v", gate)
	}
	if gate := PausedBy(rem, noon.Add(time.Hour)); gate.Closed {
		t.Errorf("the end of the pause has come: got %+v", gate)
	}
	for name, tc := range map[string]struct {
		windows []v1alpha1.PlannedWindow
		reason  string
	}{
		"no window is named": {nil, ""},
		"one is open": {[]v1alpha1.PlannedWindow{{Schedule: "0 11 * * *",
			Duration: metav1.Duration{Duration: 2 * time.Hour}, TimeZone: "UTC"}}, ""},
		"one opens later": {[]v1alpha1.PlannedWindow{{Schedule: "0 13 * * *",
			Duration: metav1.Duration{Duration: 2 * time.Hour}, TimeZone: "UTC"}}, v1alpha1.ReasonOutsideWindow},
		"one can't be read": {[]v1alpha1.PlannedWindow{{Schedule: "noon"}}, v1alpha1.ReasonStrategyInvalid},
	} {
		rem.Spec.Plan.Rollout.Windows = tc.windows
		if gate := OutsideWindows(rem, noon); gate.Reason != tc.reason || gate.Closed != (tc.reason != "") {
			t.Errorf("%s: got %+v, want %q", name, gate, tc.reason)
		}
	}
}
