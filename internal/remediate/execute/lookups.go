// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Rules that look other objects up see them by a watch, which lags behind what has just been written. One fix may
// heal the next target, or make another fix of it the right one; so the targets of such a policy are written one after
// the other, and each is judged once the watch has shown the write before it.

const (
	// lookupPatience is how long a pass waits for a watch to show what was written, where it isn't said.
	lookupPatience = 2 * time.Second
	lookupPoll     = 20 * time.Millisecond
)

func (p *Pass) policyName() string { return p.Remediation.Spec.Plan.Policy.Name }

func (p *Pass) looksUp() bool { return p.Snapshot.LooksUp(p.policyName()) }

// writeInTurn writes the targets of a batch one after the other.
func (p *Pass) writeInTurn(ctx context.Context, batch []int) error {
	for n := range batch {
		if ref, flies := p.inFlight(batch[n]); flies {
			return p.putOff(ctx, batch[n:], func(a *fix.Attempt) v1alpha1.TargetRecord {
				return a.AwaitLanding("the plan's write of " + ref.String() +
					" may still reach it: this target is judged once that is known")
			})
		}
		if err := p.caughtUp(ctx); err != nil {
			return p.putOff(ctx, batch[n:], func(a *fix.Attempt) v1alpha1.TargetRecord { return a.AwaitLookups(err) })
		}
		if err := p.writeAtOnce(ctx, batch[n:n+1]); err != nil {
			return err
		}
	}
	return nil
}

// putOff leaves targets of a batch for later.
func (p *Pass) putOff(ctx context.Context, targets []int, wait func(*fix.Attempt) v1alpha1.TargetRecord) error {
	for _, i := range targets {
		p.SetRecord(i, wait(p.Attempt(i)))
	}
	return p.Save(ctx)
}

// inFlight is another target than the ith that a write of this plan may still reach.
func (p *Pass) inFlight(i int) (v1alpha1.ObjectReference, bool) {
	now := p.Targets.Clock.Now()
	for other := range p.Records.Places {
		rec, ref := p.Records.Record(other), p.Records.Target(other).Object
		if other != i && record.MayLand(rec) && now.Before(p.landsUntil(ref.UID, rec)) {
			return ref, true
		}
	}
	return v1alpha1.ObjectReference{}, false
}

// caughtUp waits a moment until what the policy looks up is as this plan has left it: what it has written is there,
// and what it has removed isn't. The error says what isn't so yet.
func (p *Pass) caughtUp(ctx context.Context) error {
	newest, err := p.newestWrites(ctx)
	if err != nil {
		return err
	}
	removed, again, err := p.removed(ctx)
	if err != nil {
		return err
	}
	return p.until(ctx, func() error {
		if err := p.Snapshot.Shows(p.policyName(), append(newest, again...)...); err != nil {
			return err
		}
		return p.lacks(p.policyName(), removed)
	})
}

// removed are the objects that this plan has removed and that the policy finds all the same, and again those that are
// there under their names by now; those that were verified apart. The error is that one is still there, or that nobody
// knows.
func (p *Pass) removed(ctx context.Context) (gone []v1alpha1.ObjectReference, again []*unstructured.Unstructured,
	err error) {
	for i := range p.Records.Places {
		rec, ref := p.Records.Record(i), p.Records.Target(i).Object
		if w := rec.Write; !fix.Removes(w) || w.IntentTime == nil || w.RevertedTime != nil || wasVerified(rec) {
			continue
		}
		found, err := p.Snapshot.Holds(p.policyName(), ref)
		if err != nil {
			return nil, nil, err
		}
		if !found {
			continue
		}
		obj, err := p.leftOf(ctx, ref)
		switch {
		case err != nil:
			return nil, nil, err
		case obj == nil:
			gone = append(gone, ref)
		default:
			again = append(again, obj)
		}
	}
	return gone, again, nil
}

// wasVerified says whether a target was verified, for which its watch was waited for.
func wasVerified(rec *v1alpha1.TargetRecord) bool {
	return rec.State == v1alpha1.TargetVerified || rec.State == v1alpha1.TargetDone
}

// lacks says with an error that a policy still finds an object that is gone.
func (p *Pass) lacks(policyName string, gone []v1alpha1.ObjectReference) error {
	for _, ref := range gone {
		if found, err := p.Snapshot.Holds(policyName, ref); err != nil {
			return err
		} else if found {
			return fmt.Errorf("%s is gone, which its watch hasn't shown yet", ref.String())
		}
	}
	return nil
}

// newestWrites are, of each kind, the object that this plan has written last, as it is now, and those before it that a
// selector may keep from being shown with it. One that is gone doesn't count: whoever deleted it wrote later than the
// plan.
func (p *Pass) newestWrites(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	read, enough := map[schema.GroupVersionKind]bool{}, map[schema.GroupVersionKind]bool{}
	for _, w := range p.written() {
		gvk := schema.FromAPIVersionAndKind(w.ref.APIVersion, w.ref.Kind)
		if enough[gvk] || read[gvk] && w.verified {
			continue
		}
		obj, err := p.Targets.Read(ctx, w.ref)
		switch kube.Classify(err) {
		case kube.OK:
			read[gvk], enough[gvk] = true, p.Snapshot.Selects(p.policyName(), obj)
			objects = append(objects, obj)
		case kube.Gone:
		default:
			return nil, err
		}
	}
	return objects, nil
}

// written is an object that a plan has written, or meant to.
type written struct {
	at  time.Time
	ref v1alpha1.ObjectReference
	// verified says that its watch was waited for already.
	verified bool
}

// written are the objects that this plan has written, or meant to, the last one first, but for those it has removed.
func (p *Pass) written() []written {
	var all []written
	for i := range p.Records.Places {
		rec := p.Records.Record(i)
		for _, w := range record.WritesOf(rec) {
			ref := p.Records.Target(i).Object
			if w.Object != nil {
				ref = *w.Object
			}
			if w.IntentTime != nil && !fix.Removes(w) {
				all = append(all, written{at: w.IntentTime.Time, ref: ref, verified: wasVerified(rec)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b written) int { return b.at.Compare(a.at) })
	return all
}

// lookedUp says that the policy can't judge a written target yet, since what it looks up may be older than what was
// written, or nil.
func (p *Pass) lookedUp(ctx context.Context, obj *unstructured.Unstructured,
	rec *v1alpha1.TargetRecord) *rollout.Check {
	if !p.looksUp() {
		return nil
	}
	if err := p.writesShown(ctx, []string{p.policyName()}, obj, rec); err != nil {
		return unobserved("what the policy looks up isn't as new as the write: %v", err)
	}
	return nil
}

// until waits a moment until a condition holds, and says else why it doesn't.
func (p *Pass) until(ctx context.Context, holds func() error) error {
	var not error
	err := wait.PollUntilContextTimeout(ctx, lookupPoll, cmp.Or(p.LookupPatience, lookupPatience), true,
		func(context.Context) (bool, error) {
			not = holds()
			return not == nil, nil
		})
	if not != nil {
		return not
	}
	return err
}
