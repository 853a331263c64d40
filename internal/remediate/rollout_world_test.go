// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// people are what persons say of a random plan, and what the strategy leaves to
// them.
type people struct {
	Manual  bool
	Step    bool          // the first step requires an approval
	Approve time.Duration // when a person says yes, in mode Manual or after the step
	Hold    bool          // onFailure
	All     bool          // rollbackScope
	Paused  []span
	Timed   bool            // pauses name their end, and nobody resumes the plan
	Abort   time.Duration   // negative: never; a plan that holds its failures is ended in the end
	Undo    time.Duration   // when a person has the plan undone; zero: nobody does
	UndoAny bool            // also while it is at work
	Retries []time.Duration // when a person asks to verify a failed wave once more
}

func (p people) strategy(r *simStrategy) {
	if p.Manual {
		r.Mode = v1alpha1.RemediationManual
	}
	if p.Step {
		approvalAfter(0)(r)
	}
	if p.Hold {
		r.OnFailure = v1alpha1.FailureHold
	}
	if p.All {
		r.RollbackScope = v1alpha1.RollbackAll
	}
}

func (p people) speak(s *simulation) {
	s.undoAt = p.Undo
	answered(p.Approve, v1alpha1.DecisionApprove)(s)
	s.spec = func(s *simulation, spec *v1alpha1.RemediationSpec) {
		at := s.since()
		spec.PausedUntilTime = nil
		aborted := spec.DesiredState == v1alpha1.StateAborted || p.Abort >= 0 && at >= p.Abort || p.Hold &&
			at >= 2*calmAfter
		switch {
		case spec.WantsUndone(): // it can't be taken back
		case p.UndoAny && p.Undo > 0 && at >= p.Undo:
			spec.DesiredState = v1alpha1.StateUndone
		case aborted:
			spec.DesiredState = v1alpha1.StateAborted
		case p.timedEnd(at) != nil:
			spec.DesiredState, spec.PausedUntilTime = v1alpha1.StatePaused, p.timedEnd(at)
		case within(p.Paused, at):
			spec.DesiredState = v1alpha1.StatePaused
		default:
			spec.DesiredState = v1alpha1.StateRunning
		}
		spec.RetryToken = ""
		for _, from := range p.Retries {
			if at >= from {
				spec.RetryToken += "again"
			}
		}
	}
}

// timedEnd is the end of the latest pause that has begun, where pauses name one; nil for none.
func (p people) timedEnd(at time.Duration) *metav1.Time {
	latest := span{From: -1}
	for _, one := range p.Paused {
		if p.Timed && one.From <= at && one.From > latest.From {
			latest = one
		}
	}
	if latest.From < 0 {
		return nil
	}
	return &metav1.Time{Time: simStart().Add(latest.To)}
}

// boundaries are the budgets and metrics of a random plan.
type boundaries struct {
	InAll        int32 // 0: no limit
	PerNamespace int32
	Metrics      bool
	Silent       []span // when metrics give no answer
	Harm         []span // when they say that the wave does harm
}

func (b boundaries) strategy(r *simStrategy) {
	if b.InAll > 0 || b.PerNamespace > 0 {
		withBudget(b.InAll, b.PerNamespace)(r)
	}
	if b.Metrics {
		measured(r)
	}
}

func (b boundaries) apply(s *simulation) {
	answers(0, 0, "", "")(s)
	well := s.metrics
	s.metrics = func(s *simulation) rollout.Analysis {
		switch at := s.since(); {
		case within(b.Silent, at):
			return rollout.Analysis{Verdict: v1alpha1.AnalysisInconclusive, Message: "no answer", Wait: 5 * time.Second}
		case within(b.Harm, at) && s.rem.Status.HealthyTime != nil:
			return rollout.Analysis{Verdict: v1alpha1.AnalysisFailed, Message: "harm"}
		default:
			return well(s)
		}
	}
}

// sometime is a time, or never.
func sometime() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		if rapid.IntRange(0, 3).Draw(t, "ever") > 0 {
			return -1
		}
		return time.Duration(rapid.IntRange(0, 300).Draw(t, "at")) * time.Second
	})
}

// spans are over before the world calms down.
func spans() *rapid.Generator[[]span] {
	one := rapid.Custom(func(t *rapid.T) span {
		from := time.Duration(rapid.IntRange(0, 300).Draw(t, "from")) * time.Second
		return span{from, min(calmAfter, from+durations(1, 20, 200).Draw(t, "for"))}
	})
	return rapid.SliceOfN(one, 0, 2)
}

func anyPeople() *rapid.Generator[people] {
	return rapid.Custom(func(t *rapid.T) people {
		p := steadyPeople().Draw(t, "steady")
		p.Paused, p.Abort, p.UndoAny = spans().Draw(t, "paused"), sometime().Draw(t, "abort"),
			rapid.Bool().Draw(t, "undoAny")
		p.Timed = rapid.Bool().Draw(t, "timed")
		if p.UndoAny {
			p.Undo = durations(1, 20, 100, 300).Draw(t, "undo")
		}
		for _, s := range spans().Draw(t, "retries") {
			p.Retries = append(p.Retries, s.To)
		}
		return p
	})
}

// steadyPeople say what they say so early or so late that a crash changes nothing.
func steadyPeople() *rapid.Generator[people] {
	return rapid.Custom(func(t *rapid.T) people {
		return people{Abort: -1, Undo: rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Hour}).Draw(t, "undone"),
			Manual: rapid.IntRange(0, 3).Draw(t, "manual") == 0, Step: rapid.IntRange(0, 3).Draw(t, "step") == 0,
			Approve: durations(0, 7, 60).Draw(t, "approve"),
			Hold:    rapid.IntRange(0, 3).Draw(t, "hold") == 0, All: rapid.Bool().Draw(t, "all")}
	})
}

func anyLimits() *rapid.Generator[boundaries] {
	return rapid.Custom(func(t *rapid.T) boundaries {
		b := steadyLimits().Draw(t, "steady")
		if b.Metrics = rapid.IntRange(0, 2).Draw(t, "metrics") == 0; b.Metrics {
			b.Silent = spans().Draw(t, "silent")
			if rapid.IntRange(0, 2).Draw(t, "harms") == 0 {
				b.Harm = spans().Draw(t, "harm")
			}
		}
		return b
	})
}

func steadyLimits() *rapid.Generator[boundaries] {
	return rapid.Custom(func(t *rapid.T) boundaries {
		return boundaries{InAll: rapid.SampledFrom([]int32{0, 0, 1, 2, 3}).Draw(t, "inAll"),
			PerNamespace: rapid.SampledFrom([]int32{0, 0, 1, 2}).Draw(t, "perNamespace")}
	})
}

// checkPeople: a failed wave that is a person's to decide isn't undone without
// one, a person's end is no failure, and a plan that waits says since when.
func (r *rules) checkPeople(s simStep) {
	o, intent := s.Observation, s.Intent
	begins := intent.Phase == v1alpha1.PhaseRollingBack && o.Status.Phase != v1alpha1.PhaseRollingBack
	if begins && o.Spec.Plan.Rollout.OnFailure == v1alpha1.FailureHold && o.Abort == "" && o.Stop == "" {
		r.sim.fault("a failed wave is undone though onFailure is Hold and nobody has said so: %s", intent.Message)
	}
	byPerson := intent.Reason == v1alpha1.ReasonAborted || intent.Reason == v1alpha1.ReasonUndone
	if begins && byPerson && len(intent.Outcomes) > 0 {
		r.sim.fault("a plan that a person ends or has undone counts %v", intent.Outcomes)
	}
	if o.Status.Phase.Final() && intent.Phase != o.Status.Phase && !o.Spec.WantsUndone() {
		r.sim.fault("%s is left though nobody has the plan undone", o.Status.Phase)
	}
	if s.Crashed {
		return
	}
	st := r.sim.rem.Status
	waits := st.Phase == v1alpha1.PhaseHeld || st.Phase == v1alpha1.PhaseAwaitingApproval ||
		st.Phase == v1alpha1.PhaseRollbackIncomplete || intent.Stuck
	if waits != (st.HeldTime != nil) {
		r.sim.fault("%s says that people are awaited since %v", st.Phase, st.HeldTime)
	}
}
