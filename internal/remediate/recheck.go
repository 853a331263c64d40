// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// gateFresh is how old the gate's answer may be right before a write: the writes
// of a batch share it.
const gateFresh = time.Second

// lastGate asks the gate again right before writes.
type lastGate struct {
	ask func(context.Context) (rollout.Gate, error)

	mu    sync.Mutex
	asked time.Time
	gate  rollout.Gate
}

func (g *lastGate) open(ctx context.Context, now time.Time) (rollout.Gate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if age := now.Sub(g.asked); !g.asked.IsZero() && age >= 0 && age < gateFresh {
		return g.gate, nil
	}
	gate, err := g.ask(ctx)
	if err != nil {
		return rollout.Gate{}, err
	}
	g.asked, g.gate = now, gate
	return gate, nil
}

// recheck asks once more, right before the nth write of an attempt, whether it
// may be sent: the gate, and before the first the object and its namespace. What
// it reads guards the writes that follow. It returns a record when the write
// mustn't be sent.
func (p *pass) recheck(ctx context.Context, a *attempt, n int) *v1alpha1.TargetRecord {
	if p.gate != nil {
		gate, err := p.gate.open(ctx, p.targets.clock.Now())
		if err != nil {
			return a.fromError(err)
		}
		if gate.Closed {
			return a.heldBack(gate.Message)
		}
	}
	if n > 0 {
		return nil
	}
	return a.sameAsComputed(ctx)
}

// heldBack leaves a target for when the gate is open again. It is no try.
func (a *attempt) heldBack(why string) *v1alpha1.TargetRecord {
	rec := a.pending(v1alpha1.ReasonHeldBack, "not written, for right before the write: "+why)
	next := metav1.NewMicroTime(a.targets.clock.Now().Add(kube.ConflictBackoff))
	rec.NextAttemptAt = &next
	return rec
}

// sameAsComputed reads the target and its namespace once more. An opt-out or a
// tool's mark that has come since is respected; any other change that could bear
// on the fix sends the target back to be computed anew. What was read is what the
// server must still have when the write arrives.
func (a *attempt) sameAsComputed(ctx context.Context) *v1alpha1.TargetRecord {
	again := *a
	again.object, again.namespace = nil, nil
	fresh := &targets{reader: a.targets.reader, writer: a.targets.writer, mapper: a.targets.mapper,
		clock: a.targets.clock, tools: a.targets.tools,
		owners: ownerMemo{reader: a.targets.owners.reader}}
	again.targets = fresh
	again.previous.Preceding, again.previous.Write = nil, nil // not to be taken for arrived
	for _, look := range []check{readFresh, respectOptOut, respectOwnership} {
		if rec := look(ctx, &again); rec != nil {
			if rec.State.Settled() {
				return rec
			}
			rec.Preceding, rec.Write = a.previous.Preceding, a.previous.Write
			return rec
		}
	}
	if changedSinceComputed(a.object, again.object, a.writes) {
		return a.retry("the object changed while its fix was being computed", kube.ConflictBackoff)
	}
	for _, w := range a.writes {
		if w.object == a.object {
			w.object = again.object
		}
	}
	return nil
}

// changedSinceComputed says whether anything has changed that a fix may depend on.
// A status that moves on doesn't count, but for the fields of it that are written.
func changedSinceComputed(computed, now *unstructured.Unstructured, writes []*write) bool {
	if computed.GetResourceVersion() == now.GetResourceVersion() {
		return false
	}
	for _, w := range writes {
		if removes(&w.record) {
			return true
		}
		if w.Subresource == "" {
			continue
		}
		if s, err := sideOf(now, &w.record); err != nil || s != sideBefore {
			return true
		}
	}
	if _, counted := action.Lookup(computed.Object, "/metadata/generation"); !counted ||
		computed.GetGeneration() != now.GetGeneration() {
		return true
	}
	return len(action.Diff(computed.Object, now.Object)) > 0
}
