// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

const (
	// turn is how many expressions an evaluation may evaluate before it must ask for
	// the next turn: about ten milliseconds. Nearly all evaluations end before.
	turn = 16_384
	// mostInside is how many evaluations that take long may be under way, at work or
	// waiting for a turn: each may hold memory.
	mostInside = 8
	// mostClients bounds what is remembered of clients and policies.
	mostClients = 4096
)

// Lane lets evaluations that take long take turns, so that they leave room for all
// others. Whoever has had the fewest turns comes first: a client, and among a
// client's evaluations a policy, that is slow again and again waits for the others.
type Lane struct {
	mu      sync.Mutex
	free    int
	inside  int
	waiting []*ticket
	// turns are those that a client or policy has had, halved from time to time.
	turns map[string]int
}

// NewLane lets a number of slow evaluations run at once.
func NewLane(width int) *Lane {
	return &Lane{free: max(width, 1), turns: map[string]int{}}
}

// ticket is one evaluation in the lane.
type ticket struct {
	client, policy string
	inside, atWork bool
	ready          chan struct{}
}

// take waits for a turn; false when stop comes first.
func (l *Lane) take(t *ticket, stop <-chan struct{}, stopped func() bool) bool {
	l.mu.Lock()
	if t.atWork {
		t.atWork = false
		l.free++
	}
	t.ready = make(chan struct{})
	l.waiting = append(l.waiting, t)
	l.grant()
	l.mu.Unlock()
	for {
		select {
		case <-t.ready:
			return true
		case <-stop:
			if stopped() {
				l.leaveQueue(t)
				return false
			}
		}
	}
}

// leaveQueue gives up waiting.
func (l *Lane) leaveQueue(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(other *ticket) bool { return other == t })
}

// leave ends the evaluation's stay.
func (l *Lane) leave(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.atWork {
		t.atWork = false
		l.free++
	}
	if t.inside {
		t.inside = false
		l.inside--
	}
	l.grant()
}

// grant gives the free turns to those who have had the fewest; among equals, to
// whoever has waited longest.
func (l *Lane) grant() {
	for l.free > 0 {
		var next *ticket
		for _, t := range l.waiting {
			if (t.inside || l.inside < mostInside) && (next == nil || l.before(t, next)) {
				next = t
			}
		}
		if next == nil {
			return
		}
		l.waiting = slices.DeleteFunc(l.waiting, func(other *ticket) bool { return other == next })
		if !next.inside {
			next.inside = true
			l.inside++
		}
		l.free--
		next.atWork = true
		l.count(next.client)
		l.count(next.client + "\x00" + next.policy)
		close(next.ready)
	}
}

func (l *Lane) before(a, b *ticket) bool {
	return cmp.Or(
		cmp.Compare(l.turns[a.client], l.turns[b.client]),
		cmp.Compare(l.turns[a.client+"\x00"+a.policy], l.turns[b.client+"\x00"+b.policy])) < 0
}

// count notes a turn. What was long ago counts less and less.
func (l *Lane) count(name string) {
	l.turns[name]++
	if l.turns[name] < 256 && len(l.turns) < mostClients {
		return
	}
	for name, n := range l.turns {
		if n /= 2; n == 0 {
			delete(l.turns, name)
		} else {
			l.turns[name] = n
		}
	}
}

// Waiting is how many evaluations wait for a turn.
func (l *Lane) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// Turn waits until it is a client's turn to do one thing, such as to compile a policy, and
// gives what ends it; an error when ctx ends first.
func (l *Lane) Turn(ctx context.Context, client string) (end func(), err error) {
	t := &ticket{client: client}
	if !l.take(t, ctx.Done(), func() bool { return ctx.Err() != nil }) {
		l.leave(t)
		return nil, ctx.Err()
	}
	return func() { l.leave(t) }, nil
}
