// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

// HeldBack leaves a target for when the gate is open again. It is no try.
func (a *Attempt) HeldBack(why string) *v1alpha1.TargetRecord {
	rec := a.Pending(v1alpha1.ReasonRetrying, "not written, for right before the write: "+why)
	next := metav1.NewMicroTime(a.Targets.Clock.Now().Add(kube.ConflictBackoff))
	rec.NextAttemptTime = &next
	return rec
}

// SameAsComputed reads the target and its namespace once more. An opt-out or a
// tool's mark that has come since is respected; any other change that could bear
// on the fix sends the target back to be computed anew. What was read is what the
// server must still have when the write arrives.
func (a *Attempt) SameAsComputed(ctx context.Context) *v1alpha1.TargetRecord {
	again := *a
	again.Object, again.Namespace = nil, nil
	fresh := &targets.Client{Reader: a.Targets.Reader, Writer: a.Targets.Writer, Mapper: a.Targets.Mapper,
		Clock: a.Targets.Clock, Tools: a.Targets.Tools,
		Owners: targets.OwnerMemo{Reader: a.Targets.Owners.Reader}}
	again.Targets = fresh
	again.Previous.Preceding, again.Previous.Write = nil, nil // not to be taken for arrived
	for _, look := range []Check{ReadFresh, RespectOptOut, RespectOwnership} {
		if rec := look(ctx, &again); rec != nil {
			if rec.State.Settled() {
				return rec
			}
			rec.Preceding, rec.Write = a.Previous.Preceding, a.Previous.Write
			return rec
		}
	}
	if changedSinceComputed(a.Object, again.Object, a.Writes) {
		return a.Retry("the object changed while its fix was being computed", kube.ConflictBackoff)
	}
	for _, w := range a.Writes {
		if w.Base == a.Object {
			w.Base = again.Object
		}
	}
	return nil
}

// changedSinceComputed says whether anything has changed that a fix may depend on.
// A status that moves on doesn't count, but for the fields of it that are written.
func changedSinceComputed(computed, now *unstructured.Unstructured, writes []*Write) bool {
	if computed.GetResourceVersion() == now.GetResourceVersion() {
		return false
	}
	for _, w := range writes {
		if Removes(&w.Record) {
			return true
		}
		if w.Subresource == "" {
			continue
		}
		if s, err := SideOf(now, &w.Record); err != nil || s != SideBefore {
			return true
		}
	}
	if _, counted := action.Lookup(computed.Object, "/metadata/generation"); !counted ||
		computed.GetGeneration() != now.GetGeneration() {
		return true
	}
	return len(action.Diff(computed.Object, now.Object)) > 0 ||
		!action.SameMark(computed.Object, now.Object) // what is recorded to be restored
}
