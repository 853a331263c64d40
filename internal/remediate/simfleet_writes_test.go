package remediate

import (
	"cmp"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// The records that the simulated executor makes follow the protocol that
// docs/safety.md describes: the machine must be right for any executor that
// keeps to it.

func settledAs(rec v1alpha1.TargetRecord, state v1alpha1.TargetState, reason, message string) v1alpha1.TargetRecord {
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt, rec.WaitingSince = state, reason, message, nil, nil
	return rec
}

// retried leaves a record where it is for another try, within the limit.
func (s *simulation) retried(rec v1alpha1.TargetRecord, message string, after time.Duration) v1alpha1.TargetRecord {
	if rec.Attempts >= *s.rem.Spec.Plan.Strategy.RetryLimit {
		return settledAs(rec, v1alpha1.TargetFailed, v1alpha1.ReasonRetriesExhausted, fmt.Sprintf("gave up after %d tries: %s", rec.Attempts+1, message))
	}
	rec = settledAs(rec, v1alpha1.TargetPending, "Retrying", message)
	rec.Attempts++
	rec.NextAttemptAt = microTime(s.clock.Now().Add(after))
	return rec
}

// open keeps a record whose outcome isn't known for another look, without limit.
func (s *simulation) open(rec v1alpha1.TargetRecord, message string) v1alpha1.TargetRecord {
	rec.Reason, rec.Message = "OutcomeUnknown", message
	rec.NextAttemptAt = microTime(s.clock.Now().Add(simBackoff(rec.Attempts)))
	rec.Attempts++
	return rec
}

func simBackoff(attempts int32) time.Duration { return min(time.Second<<min(attempts, 6), time.Minute) }

// prepare is the protocol before a write. A target that an earlier write may still
// reach isn't settled.
func (s *simulation) prepare(i int, wave int32, rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	prepared := s.decide(i, wave, rec)
	if (prepared.State.Settled() || prepared.Wave != rec.Wave) && record.MayLand(&rec) {
		return s.awaitLanding(rec)
	}
	return prepared
}

func (s *simulation) awaitLanding(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	rec = settledAs(rec, v1alpha1.TargetPending, v1alpha1.ReasonOutcomeUnknown, "an earlier write of ours may still reach the object")
	rec.NextAttemptAt = microTime(s.clock.Now().Add(landingPoll))
	return rec
}

func (s *simulation) decide(i int, wave int32, rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	obj := s.objects[i]
	switch {
	case !s.serves(obj):
		return s.waitServed(rec)
	case take(&obj.PreErrors):
		return s.retried(rec, "503 from the API server", simBackoff(rec.Attempts))
	case !obj.exists(s.clock.Now()):
		return settledAs(rec, v1alpha1.TargetSkipped, v1alpha1.ReasonGone, "the object doesn't exist any more")
	case obj.value == valueAfter && record.MayLand(&rec):
		return s.came(rec, obj) // an earlier write of ours, come late
	case obj.value != valueBefore:
		return settledAs(rec, v1alpha1.TargetSkipped, v1alpha1.ReasonAlreadyClean, "the object doesn't violate the policy any more")
	case obj.optedOut(s):
		return settledAs(rec, v1alpha1.TargetSkipped, v1alpha1.ReasonOptOut, "left alone")
	case obj.Skips != "":
		return settledAs(rec, v1alpha1.TargetSkipped, obj.Skips, "left alone")
	case (obj.Sick || obj.Stuck) && rollout.CanaryWave(s.rem.Spec.Plan, wave) && s.rem.Spec.Plan.Strategy.Mode.Runs():
		next, found := rollout.WaveAfterCanary(s.rem.Spec.Plan, wave)
		if !found {
			return settledAs(rec, v1alpha1.TargetFailed, v1alpha1.ReasonUnhealthyBefore, "can't be the canary, and its stage has no other wave")
		}
		rec = settledAs(rec, v1alpha1.TargetPending, v1alpha1.ReasonUnhealthyBefore, "can't be the canary: it is Failed")
		rec.Wave = &next
		return rec
	case obj.Refuses != "":
		return settledAs(rec, v1alpha1.TargetFailed, obj.Refuses, "the fix can't be written")
	}
	if refused, is := obj.Neighbour.dryRun(s, rec); is {
		return refused
	}
	rec = settledAs(rec, v1alpha1.TargetIntent, "", "")
	rec.Write = s.mended(obj)
	return rec
}

func (s *simulation) applied(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	rec = settledAs(rec, v1alpha1.TargetApplied, "", "")
	rec.Attempts = 0
	rec = *rec.DeepCopy()
	rec.Write.AppliedAt = microTime(s.clock.Now())
	return notedBeyond(record.WithoutProofs(rec))
}

// write records every intent of a batch, then sends the writes. The breakers
// learn of a denial before it is settled: else a crash could keep it from them.
func (s *simulation) write(b *record.Records, batch []int) {
	views, before := b.Views(), map[int]v1alpha1.TargetRecord{}
	for _, i := range batch {
		before[i] = *b.Record(i)
		b.Set(i, s.prepare(i, views[i].Wave, *b.Record(i)))
	}
	s.save(b)
	var denied []rollout.Outcome
	for _, i := range batch {
		if b.Record(i).State != v1alpha1.TargetIntent {
			continue
		}
		rec := s.send(b, i, before[i])
		if rec.Reason == v1alpha1.ReasonAdmissionDenied {
			denied = append(denied, rollout.Outcome{Type: rollout.OutcomeFailed, Key: string(s.rem.UID) + "/denied/" + s.objects[i].ref.UID, Count: 1,
				Namespaces: map[string]int32{s.objects[i].ref.Namespace: 1}, Message: rec.Message})
		}
		b.Set(i, rec)
	}
	s.count(denied)
	s.save(b)
	for _, i := range batch {
		if rec := b.Record(i); rec.State != v1alpha1.TargetApplied {
			s.objects[i].untold = s.objects[i].theirs && record.MayLand(rec) // it may be an earlier write's
		}
	}
}

// send sends one recorded write. The guards are the API server's: nothing is
// stored unless the object is still at the recorded version. After a refusal the
// record is what it was before: the write hasn't happened, and never will.
func (s *simulation) send(b *record.Records, i int, before v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	obj, now, rec := s.objects[i], s.clock.Now(), *b.Record(i)
	s.mustBeRecorded(b.Places[i], i)
	if withheld, stays := s.lookAgain(obj, before); stays {
		return withheld
	}
	if take(&obj.Conflicts) {
		obj.version++
	}
	if obj.Beaten && !obj.theirs {
		obj.set(valueAfter)
		obj.theirs, obj.untold = true, true
	}
	switch {
	case !s.serves(obj):
		return s.waitServed(before)
	case !obj.exists(now):
		return settledAs(rec, v1alpha1.TargetSkipped, v1alpha1.ReasonGone, "the object doesn't exist any more")
	case rec.Write.ResourceVersion != fmt.Sprint(obj.version):
		return s.retried(before, "somebody else wrote the object first", 200*time.Millisecond)
	case obj.Denied || obj.Neighbour.denies(s):
		return settledAs(rec, v1alpha1.TargetFailed, v1alpha1.ReasonAdmissionDenied, "a webhook denied the write")
	}
	answer := obj.Answer
	obj.Answer = ""
	if obj.Neighbour.out(s) {
		answer = "lost" // nothing is stored, and nobody can tell from a 500
	}
	switch answer {
	case "lost":
	case "late":
		obj.late = &lateWrite{at: now.Add(obj.LateBy), version: obj.version}
	case "theirs":
		obj.set(valueTheirs)
	default:
		obj.mend(now)
	}
	s.effect()
	if answer != "" {
		return s.open(rec, "finding out whether the write has happened: timeout")
	}
	return s.answered(rec, obj)
}

// mustBeRecorded is the protocol's first rule: no write without a persisted intent.
func (s *simulation) mustBeRecorded(at record.Place, i int) {
	rec := s.store.slices[s.rem.Spec.Plan.Slices[at.Slice]].Records[at.Record]
	if rec.State != v1alpha1.TargetIntent || rec.Write == nil || rec.Write.UID != s.objects[i].ref.UID {
		s.fault("%s is written, but its persisted record is %s", s.objects[i].ref.String(), rec.State)
	}
}

func (s *simulation) preview(b *record.Records, batch []int) {
	for _, i := range batch {
		rec := s.prepare(i, b.Views()[i].Wave, *b.Record(i))
		if rec.State == v1alpha1.TargetIntent {
			rec.State = v1alpha1.TargetPreviewed
		}
		b.Set(i, rec)
	}
	s.save(b)
}

func (s *simulation) resolve(b *record.Records, batch []int) {
	for _, i := range batch {
		obj, rec := s.objects[i], *b.Record(i)
		switch {
		case !s.serves(obj):
			if !s.clock.Now().Before(record.LandsUntil(&rec)) {
				rec.State = v1alpha1.TargetIntent
			}
			rec = s.open(rec, "finding out whether the write has happened: the kind isn't served")
		case !obj.exists(s.clock.Now()):
			rec = s.applied(rec) // it may have been written first
		case obj.value == rec.Write.DigestAfter:
			rec = s.came(rec, obj)
		case obj.value == rec.Write.DigestBefore:
			rec = s.notHappened(rec)
		default:
			rec = settledAs(rec, v1alpha1.TargetFailed, v1alpha1.ReasonConflict, "somebody else has written the same fields")
		}
		b.Set(i, rec)
	}
	s.save(b)
}

// undone is the record of a target whose field is set back, by what its object holds beside.
func (s *simulation) undone(obj *simObject, rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	more, err := beyond(rec.Write.UndoExpected, obj.seen(obj.value, obj.extra), "", v1alpha1.RollbackFieldManager)
	if err != nil {
		s.fault("%v", err)
	}
	rec = record.WithoutProofs(*rec.DeepCopy())
	if u := notExactly(undone{state: v1alpha1.TargetReverted, beyond: cmp.Or(more.path, rec.Write.Surplus)}); u.beyond != "" {
		return settledAs(rec, u.state, u.reason, u.message)
	}
	rec = settledAs(rec, v1alpha1.TargetReverted, rec.Reason, rec.Message)
	write := *rec.Write
	write.RevertedAt = microTime(s.clock.Now())
	rec.Write, rec.Recovering = &write, true
	return rec
}

// notHappened keeps the record of a write that may still arrive.
func (s *simulation) notHappened(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	switch {
	case !s.clock.Now().Before(record.LandsUntil(&rec)):
		rec.Write = nil
	case rec.State == v1alpha1.TargetPending:
		return s.awaitLanding(rec)
	}
	return settledAs(rec, v1alpha1.TargetPending, "Retrying", "the recorded write hadn't happened; computing it anew")
}

// optedOut says whether the object wants no remediation by now.
func (o *simObject) optedOut(s *simulation) bool {
	return o.left || o.OptsOutAt > 0 && s.since() >= o.OptsOutAt
}

// shut is the gate that has closed right before a write.
func (s *simulation) shut() rollout.Gate {
	return rollout.Gate{Closed: s.clock.Now().Before(s.shutUntil), Reason: v1alpha1.ReasonBreakerOpen, Message: "a person has thrown the kill switch"}
}

// lookAgain is what is asked once more right before a write.
func (s *simulation) lookAgain(obj *simObject, before v1alpha1.TargetRecord) (v1alpha1.TargetRecord, bool) {
	if obj.ShutBetween > 0 {
		s.shutUntil, obj.ShutBetween = s.clock.Now().Add(obj.ShutBetween), 0
	}
	obj.left = obj.left || obj.LeavesBetween
	switch {
	case s.shut().Closed:
		rec := settledAs(before, v1alpha1.TargetPending, v1alpha1.ReasonHeldBack, "right before the write: "+s.shut().Message)
		rec.NextAttemptAt = microTime(s.clock.Now().Add(kube.ConflictBackoff))
		return rec, true
	case obj.optedOut(s) && record.MayLand(&before):
		return s.awaitLanding(before), true
	case obj.optedOut(s):
		return settledAs(before, v1alpha1.TargetSkipped, v1alpha1.ReasonOptOut, "left alone"), true
	}
	return before, false
}

func (s *simulation) revert(b *record.Records, batch []int) {
	for _, i := range batch {
		obj := s.objects[i]
		if obj.Edited && obj.value == valueAfter {
			obj.set(valueTheirs)
		}
		b.Set(i, s.proveUndo(obj, *b.Record(i)))
	}
	s.save(b)
	for _, i := range batch {
		obj, rec := s.objects[i], *b.Record(i)
		switch {
		case !s.serves(obj):
			rec = s.undoServed(rec)
		case take(&obj.RevertErrors):
			rec = s.open(rec, "503 from the API server")
		case !obj.exists(s.clock.Now()) && rec.Reason == v1alpha1.ReasonVanished:
			rec = settledAs(rec, v1alpha1.TargetFailed, rec.Reason, rec.Message)
		case !obj.exists(s.clock.Now()):
			rec = settledAs(rec, v1alpha1.TargetSkipped, v1alpha1.ReasonGone, "the object was deleted; nothing of ours is left to undo")
		case obj.value == valueBefore && rec.State == v1alpha1.TargetIntent && s.clock.Now().Before(record.LandsUntil(&rec)):
			rec.NextAttemptAt = microTime(s.clock.Now().Add(landingPoll))
		case obj.value == valueBefore:
			rec = s.undone(obj, rec)
		case obj.value == rec.Write.DigestAfter:
			rec = s.undo(obj, rec)
		default:
			rec = settledAs(rec, v1alpha1.TargetRevertConflict, v1alpha1.ReasonConflict, "somebody else has changed the same fields since")
		}
		b.Set(i, rec)
	}
	s.save(b)
}
