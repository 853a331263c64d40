// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// gateFresh is how old the gate's answer may be right before a write: the writes
// of a batch share it.
const gateFresh = time.Second

// LastGate asks the gate again right before writes.
type LastGate struct {
	Ask func(context.Context) (rollout.Gate, error)

	mu    sync.Mutex
	asked time.Time
	gate  rollout.Gate
}

func (g *LastGate) open(ctx context.Context, now time.Time) (rollout.Gate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if age := now.Sub(g.asked); !g.asked.IsZero() && age >= 0 && age < gateFresh {
		return g.gate, nil
	}
	gate, err := g.Ask(ctx)
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
func (p *Pass) recheck(ctx context.Context, a *fix.Attempt, n int) *v1alpha1.TargetRecord {
	if p.Gate != nil {
		gate, err := p.Gate.open(ctx, p.Targets.Clock.Now())
		if err != nil {
			return a.FromError(err)
		}
		if gate.Closed {
			return a.HeldBack(gate.Message)
		}
		if why, kept := gate.KeptBack[a.Object.GetNamespace()]; kept {
			return a.HeldBack(why)
		}
	}
	if n > 0 {
		return nil
	}
	return a.SameAsComputed(ctx)
}
