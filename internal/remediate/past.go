package remediate

import (
	"context"
	"errors"
	"math"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

const (
	// failedBackoff is how long a target that failed isn't planned again; it
	// doubles with each further plan in which it failed.
	failedBackoff = 10 * time.Minute
	// maxFailedBackoff is the longest of these waits.
	maxFailedBackoff = 24 * time.Hour
	// fightHeat is the heat above which an object isn't mended any more. Each
	// mending adds 1, and heat halves with every fightHalfLife.
	fightHeat = 3
	// fightHalfLife is how fast heat is lost: four mendings at once cool down in
	// about twelve minutes.
	fightHalfLife = 30 * time.Minute
	// fightMemory is how far back mendings are looked for: heat from earlier ones
	// is below a hundredth.
	fightMemory = 7 * fightHalfLife
)

// past is what the policy's ended plans tell of objects, by UID. It is read from
// the plans each time: nothing of it is lost in a restart.
type past struct {
	// failedUntil is until when an object that couldn't be mended is left alone: by
	// UID, and by place when it vanished after our write.
	failedUntil map[string]time.Time
	failures    map[string]int
	// heat is how often an object has been mended lately: somebody keeps setting
	// it back. It is kept by UID, and of objects that were deleted by place too:
	// one that somebody creates again has a new UID.
	heat map[string]float64
}

func newPast() *past {
	return &past{failedUntil: map[string]time.Time{}, failures: map[string]int{}, heat: map[string]float64{}}
}

// remember adds what one ended plan tells.
func (h *past) remember(rem *v1alpha1.Remediation, b *book, revision string, now time.Time) {
	ended := endOf(*rem)
	if ended.After(now) {
		ended = now // it was written under another clock
	}
	cooled := math.Exp2(-now.Sub(ended).Seconds() / fightHalfLife.Seconds())
	for t := range b.places {
		uid := b.target(t).Object.UID
		switch state := b.record(t).State; {
		case state == v1alpha1.TargetFailed && rem.Status.Reason == v1alpha1.ReasonNoAnswer && !canary.SpeaksOfFix(b.record(t).Reason):
			// It waits no longer than the next plan does (canary.ReplanAfter).
		case state == v1alpha1.TargetFailed && rem.Spec.Policy.Revision == revision:
			key := uid
			if b.record(t).Reason == v1alpha1.ReasonVanished {
				key = placeOf(b.target(t).Object) // whoever makes it again gives it another UID
			}
			h.failedUntil[key] = ended.Add(min(failedBackoff<<min(h.failures[key], 10), maxFailedBackoff))
			h.failures[key]++
		case state == v1alpha1.TargetDone:
			h.heat[uid] += min(cooled, 1)
			if w := b.record(t).Write; w != nil && w.Verb == v1alpha1.ActionDelete {
				h.heat[placeOf(b.target(t).Object)] += min(cooled, 1)
			}
		}
	}
}

// fighting says whether somebody keeps setting an object back.
func (h *past) fighting(object v1alpha1.ObjectReference) bool {
	return h.heat[object.UID] > fightHeat || h.heat[placeOf(object)] > fightHeat
}

// placeOf names the place of an object, whatever its UID.
func placeOf(object v1alpha1.ObjectReference) string {
	return object.APIVersion + " " + name(object)
}

// waiting says whether an object that couldn't be mended is left alone for now.
func (h *past) waiting(object v1alpha1.ObjectReference, now time.Time) bool {
	return now.Before(h.failedUntil[object.UID]) || now.Before(h.failedUntil[placeOf(object)])
}

// readPast reads what the policy's ended plans tell. A person who says to try
// again (see AnnotationRetry) makes all up to the plan named forgotten.
func (p *drafter) readPast(ctx context.Context, d draft) (*past, error) {
	h := newPast()
	now := p.clock.Now()
	for i := range d.plans {
		rem := &d.plans[i]
		if d.policy.Annotations[v1alpha1.AnnotationRetry] == rem.Name {
			h = newPast()
			continue
		}
		failed := rem.Spec.Policy.Revision == d.revision && rem.Status.Counts.Failed > 0
		mended := remembered(rem, now) > 0
		if !failed && !mended {
			continue
		}
		b, err := readBook(ctx, p.reader, rem)
		var incomplete errPlanIncomplete
		if errors.As(err, &incomplete) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h.remember(rem, b, d.revision, now)
	}
	return h, nil
}
