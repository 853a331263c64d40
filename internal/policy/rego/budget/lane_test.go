// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// queue asks for a turn and notes in which order turns are given.
func queue(l *Lane, t *ticket) {
	t.ready = make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, t)
	l.grant()
}

func given(t *ticket) bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

func TestWhoeverHadTheFewestTurnsComesFirst(t *testing.T) {
	l := NewLane(1)
	flood := make([]*ticket, 20)
	for i := range flood {
		flood[i] = &ticket{client: "flood", policy: fmt.Sprintf("p%d", i%2)}
		queue(l, flood[i])
	}
	if !given(flood[0]) || given(flood[1]) {
		t.Fatal("a lane of one must let the first in, and nobody else")
	}
	other := &ticket{client: "other", policy: "p0"}
	queue(l, other)
	l.leave(flood[0])
	if !given(other) || slices.ContainsFunc(flood[1:], given) {
		t.Fatal("a client that had no turn must come before one that floods")
	}
	l.leave(other)
	next := slices.IndexFunc(flood[1:], given) + 1
	if flood[next].policy != "p1" {
		t.Errorf("the next turn went to %s, whose policy has had one", flood[next].policy)
	}
}

func TestFewAreInsideTheLane(t *testing.T) {
	l := NewLane(100)
	all := make([]*ticket, 20)
	for i := range all {
		all[i] = &ticket{client: fmt.Sprintf("c%d", i), policy: "p"}
		queue(l, all[i])
	}
	count := func() (n int) {
		for _, one := range all {
			if given(one) {
				n++
			}
		}
		return n
	}
	if got := count(); got != mostInside {
		t.Fatalf("%d are inside, want %d: each may hold memory", got, mostInside)
	}
	l.leave(all[0])
	if got := count(); got != mostInside+1 {
		t.Errorf("%d were let in after one has left, want %d", got, mostInside+1)
	}
}

func TestATurnIsWaitedForUntilTheEvaluationIsStopped(t *testing.T) {
	l := NewLane(1)
	held := &ticket{client: "a", policy: "p"}
	queue(l, held)
	stop := make(chan struct{}, 1)
	stop <- struct{}{}
	waiting := &ticket{client: "b", policy: "p"}
	if l.take(waiting, stop, func() bool { return true }) {
		t.Fatal("a stopped evaluation got a turn")
	}
	l.leave(held)
	if l.free != 1 || l.inside != 0 || len(l.waiting) != 0 {
		t.Errorf("%d free, %d inside, %d waiting", l.free, l.inside, len(l.waiting))
	}
}

func TestWhatIsRememberedOfClientsIsBounded(t *testing.T) {
	l := NewLane(1)
	for i := range 3 * mostClients {
		one := &ticket{client: fmt.Sprintf("c%d", i), policy: "p"}
		queue(l, one)
		l.leave(one)
	}
	if len(l.turns) > mostClients {
		t.Errorf("%d are remembered", len(l.turns))
	}
}

func TestATurnIsGivenUpWithItsContext(t *testing.T) {
	l := NewLane(1)
	end, err := l.Turn(t.Context(), "flood")
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Turn(short, "flood"); err == nil {
		t.Fatal("two have the one turn that there is")
	}
	end()
	end, err = l.Turn(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	end()
	if l.free != 1 || l.inside != 0 || len(l.waiting) != 0 {
		t.Errorf("%d free, %d inside, %d waiting: want 1, 0 and 0", l.free, l.inside, len(l.waiting))
	}
}
