// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// evicted is what one plan tells of its evictions of one controller's Pods. However
// many there were, they count once: the others were there before, too.
type evicted struct {
	plan string
	// at is when the first of them was decided.
	at         time.Time
	heat, slow float64
}

// rememberEvictions adds what an ended plan tells of the owners whose Pods it evicted.
func (h *Past) rememberEvictions(plan string, b *record.Records, cooled float64, ago time.Duration) {
	cold := math.Exp2(-max(ago, 0).Seconds() / SlowHalfLife.Seconds())
	for t := range b.Places {
		w := b.Record(t).Write
		if w == nil || w.Action != v1alpha1.ActionEvict || w.AppliedTime == nil || w.IntentTime == nil ||
			w.Controller == nil {
			continue
		}
		one := evicted{plan: plan, at: w.IntentTime.Time, heat: min(cooled, 1),
			slow: (float64(b.Target(t).Heat)/100 + 1) * cold}
		for _, key := range ownerKeys(*w.Controller, *cmp.Or(w.Root, w.Controller)) {
			h.rememberEviction(key, one)
		}
	}
}

func (h *Past) rememberEviction(key string, one evicted) {
	list := h.evicted[key]
	if n := len(list); n > 0 && list[n-1].plan == one.plan {
		last := &list[n-1]
		if one.at.Before(last.at) {
			last.at = one.at
		}
		last.slow = max(last.slow, one.slow)
		return
	}
	h.evicted[key] = append(list, one)
}

// ownerKeys name owners by UID and by place: one that is deleted and applied again is
// the same to people.
func ownerKeys(owners ...v1alpha1.ObjectReference) []string {
	var keys []string
	seen := map[string]bool{}
	for _, o := range owners {
		for _, key := range []string{o.UID, placeOf(o)} {
			if !seen[key] {
				seen[key], keys = true, append(keys, key)
			}
		}
	}
	return keys
}

// OwnersOf follows the controllers of an object where evictions are remembered; else
// nobody asks.
func (h *Past) OwnersOf(ctx context.Context, reader kube.Getter, m *metav1.PartialObjectMetadata) (
	[]v1alpha1.ObjectReference, error) {
	if len(h.evicted) == 0 || !kube.Owned(m) {
		return nil, nil
	}
	lineage, err := kube.RootOf(ctx, reader, m)
	return lineage.Owners, err
}

// Fixes is what is remembered of one object.
type Fixes struct {
	Fast, slow float64
	// evicted is the root of the owners whose Pods were evicted again and again; nil when
	// it is the object itself that was fixed.
	evicted *v1alpha1.ObjectReference
}

// Of gives what is remembered of an object. Evictions count for what its controller
// has made after them, and for nothing that was there before.
func (h *Past) Of(object v1alpha1.ObjectReference, m *metav1.PartialObjectMetadata,
	owners []v1alpha1.ObjectReference) Fixes {
	out := Fixes{Fast: max(h.Heat[object.UID], h.Heat[placeOf(object)]),
		slow: max(h.Slow[object.UID], h.Slow[placeOf(object)])}
	for _, key := range ownerKeys(owners...) {
		fast, slow := 0.0, 0.0
		for _, e := range h.evicted[key] {
			if created := m.CreationTimestamp; !created.Time.Before(e.at.Truncate(time.Second)) {
				fast, slow = fast+e.heat, max(slow, e.slow)
			}
		}
		if fast > out.Fast || slow > out.slow {
			out.Fast, out.slow, out.evicted = max(out.Fast, fast), max(out.slow, slow), &owners[len(owners)-1]
		}
	}
	return out
}

// Fighting says whether somebody keeps setting an object back, fast or slowly.
func (m Fixes) Fighting() bool { return m.Fast > fightHeat || m.slow > slowHeat }

// Carried is what a new plan carries on of an object's fixes.
func (m Fixes) Carried() int32 { return int32(min(m.slow, 1000) * 100) }

// Why tells people what was done again and again, and who undoes it.
func (m Fixes) Why(object metav1.Object) string {
	if m.evicted != nil {
		return fmt.Sprintf("Evenkeel has evicted Pods of %s again and again, and those made in their place violate "+
			"too: fix its template", m.evicted.String())
	}
	return fmt.Sprintf("Evenkeel has fixed it again and again, and %s keeps reverting it",
		kube.OtherManager(object, v1alpha1.FieldManager))
}
