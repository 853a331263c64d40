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

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Neighbours are the other objects that rules judge by a written one. What a write does to them is found by the
// scan; that it was the write is proven by judging them again as if it hadn't been made.

// writtenObjects are what a target's writes have made, and how it was before them, as far as rules look it up.
type writtenObjects struct {
	since time.Time
	// now are the objects as they are, before those that were there as they were, and made those that weren't.
	now          []*unstructured.Unstructured
	before, made []map[string]any
}

// checkNeighbours fails a written target that brings a violation to another object. It waits where that can't be
// determined, and until the scan has looked since the rules of some policies were shown what was written; it is nil
// when there is none. Of a deletion obj is what was deleted.
func (p *Pass) checkNeighbours(ctx context.Context, obj *unstructured.Unstructured, rec *v1alpha1.TargetRecord,
	shown func(ctx context.Context, policies []string) error) *rollout.Check {
	if p.Scan == nil {
		return nil
	}
	w := p.writtenBy(obj, rec)
	policies := p.judgingBy(w.kinds())
	// What the scan finds until then is among the newcomers that are asked for next.
	waits := p.scanned(ctx, policies, string(obj.GetUID()), rec, shown)
	for _, name := range policies {
		c := p.checkNewcomers(ctx, name, obj, w)
		if c != nil && c.Result == rollout.CheckFailed {
			return c
		}
		waits = cmp.Or(waits, c)
	}
	return waits
}

func (w writtenObjects) kinds() []schema.GroupKind {
	kinds := make([]schema.GroupKind, len(w.now))
	for i, now := range w.now {
		kinds[i] = now.GroupVersionKind().GroupKind()
	}
	return kinds
}

// judgingBy are the policies whose rules look up objects of some kinds, but for those of others that only record.
func (p *Pass) judgingBy(kinds []schema.GroupKind) (policies []string) {
	for _, name := range p.Snapshot.Referring(kinds...) {
		if name == p.policyName() ||
			p.Snapshot.Definition(name).Spec.Admission.Action != v1alpha1.AdmissionAudit {
			policies = append(policies, name)
		}
	}
	return policies
}

// checkNewcomers judges what began to violate one policy since a write.
func (p *Pass) checkNewcomers(ctx context.Context, policyName string, obj *unstructured.Unstructured,
	w writtenObjects) (waits *rollout.Check) {
	newcomers, all := p.Scan.Newcomers(policyName, w.since)
	for _, found := range newcomers {
		if found.UID == string(obj.GetUID()) {
			continue
		}
		c := p.checkNeighbour(ctx, policyName, found, w)
		if c != nil && c.Result == rollout.CheckFailed {
			return c
		}
		waits = cmp.Or(waits, c)
	}
	if !all {
		waits = cmp.Or(waits, unobserved(
			"more objects began to violate policy %s since the write than are remembered: whether it was the write "+
				"can't be determined", policyName))
	}
	return waits
}

// writtenBy finds what a target's writes have changed and made.
func (p *Pass) writtenBy(obj *unstructured.Unstructured, rec *v1alpha1.TargetRecord) (w writtenObjects) {
	w.now = []*unstructured.Unstructured{obj}
	earlier := obj
	for _, write := range slices.Backward(record.WritesOf(rec)) {
		if write.IntentTime != nil {
			w.since = write.IntentTime.Time
		}
		if fix.Removes(write) {
			w.before = []map[string]any{obj.Object}
			continue
		}
		if write.Action.Creates() {
			made := &unstructured.Unstructured{}
			made.SetGroupVersionKind(schema.FromAPIVersionAndKind(write.Object.APIVersion, write.Object.Kind))
			made.SetNamespace(write.Object.Namespace)
			made.SetName(write.Object.Name)
			w.now, w.made = append(w.now, made), append(w.made, made.Object)
			continue
		}
		if _, content, err := fix.InverseOf(write, earlier); err == nil && content != nil {
			earlier = &unstructured.Unstructured{Object: content}
			w.before = []map[string]any{content}
		}
	}
	return w
}

// checkNeighbour judges an object that began to violate after a write, as it is and as if the write hadn't been
// made. One that was itself written since is its writer's business, so that nobody can have a fix undone by what
// she makes of her own.
func (p *Pass) checkNeighbour(ctx context.Context, policyName string, found policy.Finding,
	w writtenObjects) *rollout.Check {
	ref := v1alpha1.ObjectReference{APIVersion: found.APIVersion, Kind: found.Kind, Namespace: found.Namespace,
		Name: found.Name, UID: found.UID}
	n := p.around.read(ctx, p, ref)
	switch {
	case n.err != nil:
		return unobserved("%s began to violate policy %s after the write; whether the write did that can't be "+
			"determined: %v", ref.String(), policyName, n.err)
	case n.obj == nil || writtenSince(n.obj, w.since):
		return nil
	}
	brought, err := p.brought(ctx, policyName, n.obj, w)
	switch {
	case err != nil:
		return unobserved("whether the write makes %s violate policy %s can't be determined: %v", ref.String(),
			policyName, err)
	case len(brought) == 0:
		return nil
	}
	return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonFixBreaksPolicy,
		Message: fmt.Sprintf("the write makes %s violate policy %s: %s", ref.String(), policyName, brought[0].Message)}
}

// brought are the violations of an object that it wouldn't have if a write hadn't been made. One whose policy fails
// has none that anybody knows of. The error is that what the policy looks up isn't known at the moment.
func (p *Pass) brought(ctx context.Context, policyName string, obj *unstructured.Unstructured, w writtenObjects) (
	[]policy.Violation, error) {
	s := p.around.suspect(ctx, p, policyName, obj)
	if s.err != nil || len(s.violations) == 0 {
		return nil, s.err
	}
	return p.without(ctx, policyName, obj, w, s.violations)
}

// without are those of some violations of an object that it wouldn't have if some writes hadn't been made.
func (p *Pass) without(ctx context.Context, policyName string, obj *unstructured.Unstructured, w writtenObjects,
	violations []policy.Violation) ([]policy.Violation, error) {
	before, _, err := p.Targets.Judge(ctx, p.Snapshot, policyName, obj, func(r *policy.Request) {
		r.Beside, r.Without = w.before, w.made
	})
	if err != nil {
		return nil, unreadNamespace(err)
	}
	if before.Err != nil {
		return nil, unknownOf(before.Err)
	}
	return policy.NewSince(before.Violations, violations), nil
}

// unknownOf is an error that passes once more is known; nil for others.
func unknownOf(err error) error {
	if policy.LookupUnknown(err) {
		return err
	}
	return nil
}

// writtenSince says whether anybody has written an object since a moment, its status apart, or nobody can tell.
func writtenSince(obj *unstructured.Unstructured, since time.Time) bool {
	known := false
	for _, m := range obj.GetManagedFields() {
		if m.Subresource != "" || m.Time == nil {
			continue
		}
		if known = true; !m.Time.Time.Before(since.Truncate(time.Second)) {
			return true
		}
	}
	return !known
}

func unobserved(format string, args ...any) *rollout.Check {
	return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
		Message: fmt.Sprintf(format, args...)}
}
