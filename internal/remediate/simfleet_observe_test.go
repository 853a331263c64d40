// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// observe gathers what the machine may look at, as gather does: the phases that
// observer at a thing are those of looks.
func (s *simulation) observe(views []rollout.TargetView) rollout.Observation {
	s.spec(s, &s.rem.Spec)
	var floors limits.Floors
	if s.floors != nil {
		floors = s.floors(s)
	}
	spec, mostInWave := withinFloors(&floors, s.rem)
	o := rollout.Observation{Now: s.clock.Now(), UID: s.rem.UID, Spec: spec, MostInWave: mostInWave,
		Status: *s.rem.Status.DeepCopy(), Targets: append([]rollout.TargetView{}, views...),
		Stop: s.stop(s), Abort: abort(s.rem)}
	phase, from := o.Status.Phase, o.Status.HeldFrom
	begun := phase != "" && phase != v1alpha1.PhasePlanned && phase != v1alpha1.PhaseAwaitingApproval &&
		!(phase == v1alpha1.PhaseHeld && from == v1alpha1.PhasePlanned)
	if wave, asks := s.rem.ApprovalWave(); !begun && asks {
		o.Approval = s.approval(s)
		o.Approval.Needed = true
		if o.Approval.Decision != "" {
			s.rem.Status.Approval = &v1alpha1.ApprovalRecord{Decision: o.Approval.Decision, Wave: wave}
		}
	}
	if phase == v1alpha1.PhaseVerifying || soaksIn(o.Status) {
		s.lookAtTargets(&o)
	}
	if phase == v1alpha1.PhaseRollingBack {
		s.lookAtRollback(&o)
	}
	s.learned = o.Status.Analysis
	if len(o.Spec.Plan.Rollout.Metrics) > 0 &&
		(phase == v1alpha1.PhaseApplying || phase == v1alpha1.PhaseVerifying || soaksIn(o.Status) ||
			from == v1alpha1.PhaseApplying) {
		s.askMetrics(&o)
	}
	asks := o.Count(v1alpha1.TargetPending) > 0 && o.Stop == "" && o.Abort == "" && o.Spec.Plan.Rollout.Mode.Runs() &&
		!o.Unanswered()
	if asks && phase != v1alpha1.PhaseRollingBack && !soaksIn(o.Status) {
		s.askGates(&o)
	}
	return o
}

func soaksIn(s v1alpha1.RemediationStatus) bool {
	return s.Phase == v1alpha1.PhaseSoaking || s.Phase == v1alpha1.PhaseHeld && s.HeldFrom == v1alpha1.PhaseSoaking
}

func (s *simulation) lookAtTargets(o *rollout.Observation) {
	for i, t := range o.Targets {
		written := t.State == v1alpha1.TargetApplied || t.State == v1alpha1.TargetVerified && soaksIn(o.Status)
		if t.Wave == o.Status.Wave && written {
			o.Targets[i].Check = s.verify(i, t)
		}
	}
}

// askMetrics takes the wave's baseline when metrics answer before its first write.
func (s *simulation) askMetrics(o *rollout.Observation) {
	o.Analysis = s.metrics(s)
	if o.BaselineMissing() && o.Analysis.Verdict != v1alpha1.AnalysisInconclusive &&
		!o.Members(o.Status.Wave).Written() {
		s.learned = nil
		for _, m := range o.Spec.Plan.Rollout.Metrics {
			s.learned = append(s.learned,
				v1alpha1.MetricRecord{Name: m.Name, Wave: o.Status.Wave, Baseline: "0.01",
					LastSampleTime: microTime(o.Now)})
		}
	}
}

// askGates asks in the order of gate, and then for the room of single targets.
func (s *simulation) askGates(o *rollout.Observation) {
	for _, gate := range []rollout.Gate{rollout.PausedBy(s.rem, o.Now), rollout.OutsideWindows(s.rem, o.Now),
		budget.Invalid(s.rem), s.shut(), s.gate(s)} {
		if gate.Closed {
			o.Gate = gate
			return
		}
	}
	claims := s.claims(s)
	room := canary.RoomFor(append(s.others(s), s.ownWork(o.Targets)))
	for i, t := range o.Targets {
		if t.State != v1alpha1.TargetPending {
			continue
		}
		why, reason := s.barred(s, t)
		o.Targets[i].Barred, o.Targets[i].BarredReason = why, reason
		if why != "" || t.Wave != o.Status.Wave || t.NextAttemptAt.After(o.Now) {
			continue
		}
		if plan := claims[t.Object.UID]; plan != "" && o.Status.Phase == v1alpha1.PhaseApplying {
			o.Targets[i].Barred, o.Targets[i].BarredReason = budget.ClaimedBy(plan), v1alpha1.ReasonOtherPlan
		} else if why := room.Take(t.Object.Namespace); why != "" && o.Status.Phase == v1alpha1.PhaseApplying {
			o.Targets[i].Barred, o.Targets[i].BarredReason = why, v1alpha1.ReasonBudgetSpent
		}
	}
	if back := o.AllKeptBack(); back.Closed {
		o.Gate = back
	}
}

// ownWork is the plan as its own budgets see it.
func (s *simulation) ownWork(targets []rollout.TargetView) canary.PlanAtWork {
	own := canary.PlanAtWork{Name: s.rem.Name, MaxInFlight: s.rem.Spec.Plan.Rollout.MaxTotalInFlight,
		MaxPerNamespace: s.rem.Spec.Plan.Rollout.MaxPerNamespace, InFlight: map[string]int{}}
	for _, t := range targets {
		if t.State == v1alpha1.TargetIntent || t.State == v1alpha1.TargetApplied || t.Recovering {
			own.InFlight[t.Object.Namespace]++
		}
	}
	return own
}

// lookAtRollback looks at what recovers, and paces what is to be undone.
func (s *simulation) lookAtRollback(o *rollout.Observation) {
	for i, t := range o.Targets {
		if obj := s.objects[i]; t.Recovering {
			o.Targets[i].Check = &rollout.Check{
				Result: rollout.CheckWaiting, Reason: "", Message: "0 of 1 replicas ready"}
			if s.serves(obj) && o.Now.Sub(obj.undoneAt) >= obj.Recovers || s.serves(obj) && !obj.exists(o.Now) {
				o.Targets[i].Check = &rollout.Check{
					Result: rollout.CheckPassed, Reason: "", Message: "as well as before"}
			}
		}
	}
	o.PaceUndo(canary.RoomFor(append(s.others(s), s.ownWork(o.Targets))), "")
}
