// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// maxIdleSteps is how many steps in a row may do nothing and not wait either.
const maxIdleSteps = 4

// rules are what every rollout must keep to, whatever the fleet does and
// wherever the controller dies.
type rules struct {
	sim *simulation
	// badAt is when a target was last seen not to be well, since its write.
	badAt map[int]time.Time
	idle  int
	wave  int32
	// approved is the latest wave that a person's yes was seen for; -1 before any.
	approved int32
}

func newRules(s *simulation) *rules { return &rules{sim: s, badAt: map[int]time.Time{}, approved: -1} }

// check judges one step. What it finds breaks the simulation.
func (r *rules) check(s simStep) {
	if s.Observation.Approval.Decision == v1alpha1.DecisionApprove {
		r.approved = s.Observation.Status.Wave
	}
	r.checkWrites(s)
	r.checkReverts(s)
	r.checkRecords(s)
	r.checkSoak(s)
	r.checkOutcomes(s)
	r.checkVanished(s)
	r.checkServed(s)
	r.checkForeign(s)
	r.checkPeople(s)
	r.checkProgress(s)
}

func (r *rules) checkWrites(s simStep) {
	o, wave := s.Observation, s.Observation.Status.Wave
	if len(s.Intent.Write) == 0 {
		return
	}
	if o.Gate.Closed || o.Stop != "" || o.Abort != "" {
		r.sim.fault("a write begins though the gate is closed (%t), the plan is stopped (%q) or ended (%q)",
			o.Gate.Closed, o.Stop, o.Abort)
	}
	if !o.Spec.Plan.Rollout.Mode.Runs() || o.Spec.Plan.Rollout.Mode == v1alpha1.RemediationManual && r.approved < 0 {
		r.sim.fault("a write begins in mode %s, approved: %d", o.Spec.Plan.Rollout.Mode, r.approved)
	}
	for i, before := range o.Spec.Plan.Waves[:wave] {
		if before.Approval != "" && int(r.approved) <= i {
			r.sim.fault("wave %d is written, and nobody has approved what follows wave %d", wave, i)
		}
	}
	// a wave that has begun keeps its baseline, however long it is paused
	if o.BaselineMissing() && !o.Members(wave).Written() {
		r.sim.fault("a write begins before metrics have said how things stood without it")
	}
	busy := len(s.Intent.Write)
	for i, t := range s.Before {
		if t.Wave == wave && (t.State == v1alpha1.TargetIntent || t.State == v1alpha1.TargetApplied) {
			busy++
		}
		if t.Wave < wave && !t.State.Settled() {
			r.sim.fault("wave %d is written while %s of wave %d is %s", wave, t.Object.String(), t.Wave, t.State)
		}
		if slices.Contains(s.Intent.Write, i) && o.Targets[i].Barred != "" {
			r.sim.fault("%s is to be written, though %s", t.Object.String(), o.Targets[i].Barred)
		}
		if slices.Contains(s.Intent.Write, i) && (t.Wave != wave || t.State != v1alpha1.TargetPending) {
			r.sim.fault("%s of wave %d, %s, is to be written in wave %d", t.Object.String(), t.Wave, t.State, wave)
		}
	}
	r.checkFloors(s)
	if busy > int(o.Spec.Plan.Rollout.MaxInFlight) {
		r.sim.fault("%d targets in flight: the limit is %d", busy, o.Spec.Plan.Rollout.MaxInFlight)
	}
	if !rollout.CanaryWave(o.Spec.Plan, wave) && !o.DoneIn(canary.StageOf(o.Spec.Plan, wave)) {
		r.sim.fault("wave %d is written without a canary of its stage that is done", wave)
	}
}

func (r *rules) checkReverts(s simStep) {
	for n, i := range s.Intent.Revert {
		t := s.Before[i]
		all := s.Observation.Spec.Plan.Rollout.RollbackScope == v1alpha1.RollbackAll ||
			s.Observation.Spec.WantsUndone()
		ours := t.State == v1alpha1.TargetDone && all || !t.State.Settled() && t.State != v1alpha1.TargetPending
		if !ours || t.Wave != s.Observation.Status.Wave && !all {
			r.sim.fault("%s of wave %d, %s, is to be undone in wave %d", t.Object.String(), t.Wave, t.State,
				s.Observation.Status.Wave)
		}
		if n > 0 && s.Intent.Revert[n-1] < i {
			r.sim.fault("%s is undone after what was written before it", t.Object.String())
		}
	}
	if others := r.sim.others(r.sim); len(s.Intent.Revert) > 0 {
		r.sim.keepPace(s, canary.RoomFor(append(others, r.sim.ownWork(s.Before))))
	}
	if len(s.Intent.Revert) > int(s.Observation.Spec.Plan.Rollout.MaxInFlight) {
		r.sim.fault("%d targets are undone at once", len(s.Intent.Revert))
	}
}

// checkRecords: settled targets stay so, and each is in one wave of the plan.
func (r *rules) checkRecords(s simStep) {
	for i, before := range s.Before {
		after := s.After[i]
		undone := before.State == v1alpha1.TargetDone && slices.Contains(s.Intent.Revert, i)
		if before.State.Settled() && after.State != before.State && !undone {
			r.sim.fault("%s was settled as %s, and is %s now", after.Object.String(), before.State, after.State)
		}
		if after.Wave != before.Wave && after.Wave == 0 && after.ExcludedFromCanary {
			r.sim.fault("%s is drawn into the canary, which canary.selector doesn't choose it for",
				after.Object.String())
		}
		if after.Wave != before.Wave && before.State != v1alpha1.TargetPending {
			r.sim.fault("%s, %s, goes from wave %d to %d", after.Object.String(), before.State, before.Wave, after.Wave)
		}
		if after.Wave < 0 || int(after.Wave) >= max(len(s.Observation.Spec.Plan.Waves), 2) {
			r.sim.fault("%s is in wave %d of %v", after.Object.String(), after.Wave, s.Observation.Spec.Plan.Waves)
		}
		obj := r.sim.objects[i]
		if obj.fixes > 1 || obj.undoes > obj.fixes && !obj.untold {
			r.sim.fault("%s was written %d times and undone %d times", after.Object.String(), obj.fixes, obj.undoes)
		}
	}
}

// checkSoak: a target is done only when it was seen well, and never unwell, for the soak.
func (r *rules) checkSoak(s simStep) {
	o := s.Observation
	for i, t := range o.Targets {
		if t.Check != nil && t.Check.Result != rollout.CheckPassed {
			r.badAt[i] = o.Now
		}
		if s.Before[i].State == v1alpha1.TargetDone || s.After[i].State != v1alpha1.TargetDone {
			continue
		}
		if t.Check == nil || t.Check.Result != rollout.CheckPassed {
			r.sim.fault("%s is done, but wasn't seen to be well", t.Object.String())
		}
		for _, from := range []time.Time{r.badAt[i], r.sim.objects[i].writtenAt} {
			if well := o.Now.Sub(from); well < o.Soak() {
				r.sim.fault("%s is done after %s: the soak is %s", t.Object.String(), well, o.Soak())
			}
		}
	}
}

// checkProgress: the rollout goes forward, and never turns on the spot.
func (r *rules) checkProgress(s simStep) {
	if s.Observation.Status.Wave < r.wave {
		r.sim.fault("the rollout went back from wave %d to %d", r.wave, s.Observation.Status.Wave)
	}
	r.wave = s.Observation.Status.Wave
	if s.Crashed || s.Intent.Wait > 0 || s.Intent.Phase.Final() || len(deeds(s)) > 0 {
		r.idle = 0
		return
	}
	if r.idle++; r.idle > maxIdleSteps {
		r.sim.fault("%d steps in a row do nothing and don't wait: %s → %s, %s", r.idle, s.Observation.Status.Phase,
			s.Intent.Phase, s.Intent.Message)
	}
}

// end judges where the rollout has ended.
func (r *rules) end() error {
	b, err := r.sim.records()
	if err != nil {
		return err
	}
	for name := range r.sim.store.slices {
		if err := r.sim.store.intact(name); err != nil {
			return err
		}
	}
	for _, obj := range r.sim.objects { // what was under way arrives now, when nobody looks any more
		if obj.late != nil {
			obj.late.at = r.sim.clock.Now()
			obj.arrive(r.sim.clock.Now())
		}
	}
	if err := errors.Join(r.endOfTargets(b), r.endOfDenials(b)); err != nil {
		return err
	}
	if r.endOfVanished(b); r.sim.broken != nil {
		return r.sim.broken
	}
	st, c := r.sim.rem.Status, r.sim.rem.Status.Counts
	if sum := c.Done + c.Skipped + c.Failed + c.Reverted + c.RevertConflict; sum != r.sim.rem.Spec.Plan.Targets ||
		c.Pending+c.InFlight != 0 {
		return fmt.Errorf("%s: %+v don't add up to %d settled targets", st.Phase, c, r.sim.rem.Spec.Plan.Targets)
	}
	if st.Reason == "" || st.Message == "" || st.CompletionTime == nil {
		return fmt.Errorf("%s has no reason, message or time: %+v", st.Phase, st)
	}
	undone := st.Phase == v1alpha1.PhaseRolledBack || st.Phase == v1alpha1.PhaseRollbackIncomplete
	if st.Phase == v1alpha1.PhaseRollbackIncomplete && st.HeldTime == nil {
		return fmt.Errorf("%s doesn't say since when a person is needed", st.Phase)
	}
	spec := r.sim.rem.Spec
	if undone && c.Done > 0 && spec.Plan.Rollout.RollbackScope == v1alpha1.RollbackAll || c.Done > 0 &&
		spec.WantsUndone() && st.Phase != v1alpha1.PhasePreviewed {
		return fmt.Errorf("%s, and %d targets stay fixed though rollbackScope is %s and undo %t", st.Phase, c.Done,
			spec.Plan.Rollout.RollbackScope, spec.WantsUndone())
	}
	if !undone && c.Reverted+c.RevertConflict > 0 ||
		(c.RevertConflict > 0) != (st.Phase == v1alpha1.PhaseRollbackIncomplete) {
		return fmt.Errorf("%s with %d reverted and %d in conflict", st.Phase, c.Reverted, c.RevertConflict)
	}
	return nil
}

// endOfTargets: what the records say is what the cluster holds.
func (r *rules) endOfTargets(b *record.Records) error {
	for i, obj := range r.sim.objects {
		rec := b.Record(i)
		if !rec.State.Settled() {
			return fmt.Errorf("%s: %s is still %s", r.sim.rem.Status.Phase, obj.ref.String(), rec.State)
		}
		if !obj.exists(r.sim.clock.Now()) || obj.untold || rec.Reason == v1alpha1.ReasonNotServed {
			continue
		}
		ours := obj.value == valueAfter && !obj.theirs
		if ours != (rec.State == v1alpha1.TargetDone) {
			return fmt.Errorf("%s: the record of %s says %s (%s), the object holds %q", r.sim.rem.Status.Phase,
				obj.ref.String(), rec.State, rec.Reason, obj.value)
		}
		if rec.Recovering {
			return fmt.Errorf("%s: %s is still looked after", r.sim.rem.Status.Phase, obj.ref.String())
		}
		if rec.State == v1alpha1.TargetReverted && obj.value != valueBefore {
			return fmt.Errorf("%s is Reverted, and holds %q", obj.ref.String(), obj.value)
		}
		if err := r.endOfMark(i, obj, *rec); err != nil {
			return err
		}
	}
	return nil
}
