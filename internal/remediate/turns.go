// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"sync"
)

// turns lets one step of a plan be taken at a time: the plan's own, or that of another
// plan which leads a write that both take part in. The zero value is ready.
type turns struct {
	mu    sync.Mutex
	plans map[string]*turn
}

type turn struct {
	busy  chan struct{} // holds one element while a step is taken
	users int
}

// take waits for a plan's turn, until the context ends. The turn is given back by
// the function that it returns.
func (t *turns) take(ctx context.Context, plan string) (func(), error) {
	t.mu.Lock()
	one := t.plans[plan]
	if one == nil {
		one = &turn{busy: make(chan struct{}, 1)}
		if t.plans == nil {
			t.plans = map[string]*turn{}
		}
		t.plans[plan] = one
	}
	one.users++
	t.mu.Unlock()
	select {
	case one.busy <- struct{}{}:
		return func() { <-one.busy; t.leave(plan, one) }, nil
	case <-ctx.Done():
		t.leave(plan, one)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(plan string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.plans, plan)
	}
}
