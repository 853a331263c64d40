// SPDX-License-Identifier: Apache-2.0

package history

import (
	"math"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

const (
	// failedBackoff is how long a target that failed isn't planned again; it
	// doubles with each further plan in which it failed.
	failedBackoff = 10 * time.Minute
	// maxFailedBackoff is the longest of these waits.
	maxFailedBackoff = 24 * time.Hour
	// fightHeat is the heat above which an object isn't fixed any more. Each
	// fixing adds 1, and heat halves with every fightHalfLife.
	fightHeat = 3
	// fightHalfLife is how fast heat is lost: four fixes at once cool down in
	// about twelve minutes.
	fightHalfLife = 30 * time.Minute
	// slowHeat is the same for fights that are slow, such as a pipeline that sets
	// an object back once an hour: each fix adds 1, and it halves with every
	// SlowHalfLife. Plans carry it on (Target.Heat), so that it outlasts them.
	slowHeat = 8
	// SlowHalfLife is in how long what counts over weeks cools to a half.
	SlowHalfLife = 7 * 24 * time.Hour
	// slowMemory is how far back plans are looked at for it.
	slowMemory = 4 * SlowHalfLife
	// fightMemory is how far back fixes are looked for: heat from earlier ones
	// is below a hundredth.
	fightMemory = 7 * fightHalfLife
)

// Past is what the policy's ended plans tell of objects, by UID. It is read from
// the plans each time: nothing of it is lost in a restart.
type Past struct {
	// FailedUntil is until when an object that couldn't be fixed is left alone: by
	// UID, and by place when it vanished after our write.
	FailedUntil map[string]time.Time
	failures    map[string]int
	// Heat is how often an object has been fixed lately: somebody keeps setting
	// it back. It is kept by UID, and of objects that were deleted by place too:
	// one that somebody creates again has a new UID.
	Heat map[string]float64
	// Slow is the same over weeks: what the latest plan of the object carries, and
	// its own fixing.
	Slow map[string]float64
	// evicted are the evictions of what a controller has made, by the UIDs and places of
	// the owners that were recorded: what it makes anew has another UID and name.
	evicted map[string][]evicted
}

// New is an empty memory.
func New() *Past {
	return &Past{FailedUntil: map[string]time.Time{}, failures: map[string]int{}, Heat: map[string]float64{},
		Slow: map[string]float64{}, evicted: map[string][]evicted{}}
}

// Remember adds what one ended plan tells.
func (h *Past) Remember(rem *v1alpha1.Remediation, b *record.Records, revision string, now time.Time) {
	ended := rem.EndTime()
	if ended.After(now) {
		ended = now // it was written under another clock
	}
	cooled := math.Exp2(-now.Sub(ended).Seconds() / fightHalfLife.Seconds())
	h.rememberEvictions(rem.Name, b, cooled, now.Sub(ended))
	for t := range b.Places {
		h.rememberSlowly(b.Target(t), b.Record(t), now.Sub(ended))
		uid := b.Target(t).Object.UID
		switch state := b.Record(t).State; {
		case state == v1alpha1.TargetFailed, Unproven(b.Record(t)):
			h.rememberFailure(rem, b.Target(t).Object, b.Record(t).Reason, revision, ended)
		case state == v1alpha1.TargetDone:
			h.Heat[uid] += min(cooled, 1)
			if w := b.Record(t).Write; w != nil && w.Action == v1alpha1.ActionDelete {
				h.Heat[placeOf(b.Target(t).Object)] += min(cooled, 1)
			}
		}
	}
}

// Unproven says whether a target's write was undone because the object wasn't well
// before it, and didn't get well, or because nobody could tell: it waits like one that failed, so that the next plan
// goes on without it.
func Unproven(rec *v1alpha1.TargetRecord) bool {
	undone := rec.State == v1alpha1.TargetReverted || rec.State == v1alpha1.TargetRevertConflict
	return undone && circuit.ProvesNothing(rec.Reason)
}

// rememberFailure lets a target wait that failed under the revision in force. One of a
// plan that ended without an answer waits no longer than the next plan does (see
// circuit.ReplanAfter).
func (h *Past) rememberFailure(rem *v1alpha1.Remediation, object v1alpha1.ObjectReference, reason, revision string,
	ended time.Time) {
	unanswered := rem.Status.Reason == v1alpha1.ReasonNoAnswer && !circuit.SpeaksOfFix(reason) &&
		!circuit.ProvesNothing(reason)
	if unanswered || rem.Spec.Plan.Policy.Revision != revision {
		return
	}
	key := object.UID
	if reason == v1alpha1.ReasonVanished {
		key = placeOf(object) // whoever makes it again gives it another UID
	}
	h.FailedUntil[key] = ended.Add(min(failedBackoff<<min(h.failures[key], 10), maxFailedBackoff))
	h.failures[key]++
}

// rememberSlowly adds what a plan that ended so long ago tells of an object's
// fixes over weeks. A later plan carries on what an earlier one knew, so that the
// largest is all of it.
func (h *Past) rememberSlowly(t v1alpha1.Target, rec *v1alpha1.TargetRecord, ago time.Duration) {
	known := float64(t.Heat) / 100
	if rec.State == v1alpha1.TargetDone {
		known++
	}
	known *= math.Exp2(-max(ago, 0).Seconds() / SlowHalfLife.Seconds())
	keys := []string{t.Object.UID}
	if w := rec.Write; w != nil && w.Action == v1alpha1.ActionDelete {
		keys = append(keys, placeOf(t.Object)) // whoever makes it again gives it another UID
	}
	for _, key := range keys {
		h.Slow[key] = max(h.Slow[key], known)
	}
}

// TellsSlowly says whether a plan is to be read for slow fights alone: it has fixed
// something, not too long ago, and is small, as those are that fix what somebody
// sets back. Large ones count while they are read for fast fights.
func TellsSlowly(rem *v1alpha1.Remediation, now time.Time) bool {
	return rem.Stands() && len(rem.Spec.Plan.Slices) == 1 && now.Sub(rem.EndTime()) < slowMemory
}

// placeOf names the place of an object, whatever its UID.
func placeOf(object v1alpha1.ObjectReference) string {
	return object.APIVersion + " " + object.String()
}

// Waiting says whether an object that couldn't be fixed is left alone for now.
func (h *Past) Waiting(object v1alpha1.ObjectReference, now time.Time) bool {
	return now.Before(h.FailedUntil[object.UID]) || now.Before(h.FailedUntil[placeOf(object)])
}
