// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"cmp"
	"context"
	"errors"
	"sync"
)

// Key says for whom something is reserved: from which address it comes, and who
// asks. The two are shares within shares: an address that names many users in the
// reviews that it makes up takes nothing from the users of another.
type Key struct{ Peer, Flow string }

// ErrBusy says that there was no room in time.
var ErrBusy = errors.New("too much is being judged")

// Queue shares out a capacity. Whoever holds the least is served first, so that
// one that asks for much waits for itself. It is safe for concurrent use.
type Queue struct {
	// Capacity bounds the sum of the weights, Slots their number, and Waiting how
	// many wait.
	Capacity       int64
	Slots, Waiting int

	mu    sync.Mutex
	held  map[Key]share
	peers map[string]share
	used  share
	// served is the turn in which each was served last.
	served  map[Key]uint64
	turns   uint64
	waiters []*waiter
}

// maxServed bounds how many turns are remembered.
const maxServed = 4096

// share is what is held.
type share struct {
	weight int64
	slots  int
}

func (s share) plus(weight int64, slots int) share { return share{s.weight + weight, s.slots + slots} }

type waiter struct {
	key    Key
	weight int64
	// admitted is closed once the weight is reserved, with turned false, or once
	// there is no hope, with turned true.
	admitted chan struct{}
	turned   bool
}

// Acquire reserves a weight of at most the capacity until release is called. It
// waits until ctx ends at most, and errs with ErrBusy then, or at once when too
// many wait already.
func (q *Queue) Acquire(ctx context.Context, key Key, weight int64) (release func(), err error) {
	w := &waiter{key: key, weight: min(max(weight, 1), q.Capacity), admitted: make(chan struct{})}
	q.mu.Lock()
	q.waiters = append(q.waiters, w)
	q.dispatch()
	q.shed()
	q.mu.Unlock()
	select {
	case <-w.admitted:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.admitted:
	default: // the time is over
		q.remove(w, true)
	}
	if w.turned {
		return nil, ErrBusy
	}
	return sync.OnceFunc(func() { q.release(w) }), nil
}

func (q *Queue) release(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.account(w, -1)
	q.dispatch()
}

// account adds a waiter's weight to what is held, or takes it off.
func (q *Queue) account(w *waiter, sign int) {
	if q.held == nil {
		q.held, q.peers, q.served = map[Key]share{}, map[string]share{}, map[Key]uint64{}
	}
	weight := int64(sign) * w.weight
	q.used = q.used.plus(weight, sign)
	if q.held[w.key] = q.held[w.key].plus(weight, sign); q.held[w.key].slots == 0 {
		delete(q.held, w.key)
	}
	if q.peers[w.key.Peer] = q.peers[w.key.Peer].plus(weight, sign); q.peers[w.key.Peer].slots == 0 {
		delete(q.peers, w.key.Peer)
	}
}

// dispatch serves those that wait, the one that holds least first. When that one
// doesn't fit the others wait too: it would wait for ever otherwise.
func (q *Queue) dispatch() {
	for {
		best := q.first()
		if best == nil || q.used.weight+best.weight > q.Capacity || q.used.slots >= q.Slots {
			return
		}
		q.remove(best, false)
		q.account(best, 1)
		q.serve(best.key)
	}
}

// first is the waiter to serve next: of the address that holds least, of the flow
// that holds least, the one that came first; nil when all have their share.
func (q *Queue) first() *waiter {
	var best *waiter
	for _, w := range q.waiters {
		if q.mayHold(w) && (best == nil || q.before(w, best)) {
			best = w
		}
	}
	return best
}

// before compares what the two hold, and among equals when they were served last.
func (q *Queue) before(a, b *waiter) bool {
	if a.key.Peer != b.key.Peer {
		pa, pb := Key{Peer: a.key.Peer}, Key{Peer: b.key.Peer}
		if order := cmp.Or(cmp.Compare(q.peers[pa.Peer].weight, q.peers[pb.Peer].weight),
			cmp.Compare(q.served[pa], q.served[pb])); order != 0 {
			return order < 0
		}
	}
	return cmp.Or(cmp.Compare(q.held[a.key].weight, q.held[b.key].weight),
		cmp.Compare(q.served[a.key], q.served[b.key])) < 0
}

// serve notes whose turn it was. A key without a flow is an address.
func (q *Queue) serve(k Key) {
	if len(q.served) > maxServed {
		clear(q.served) // names made up to fill it; everybody begins anew
	}
	q.turns++
	q.served[k], q.served[Key{Peer: k.Peer}] = q.turns, q.turns
}

// mayHold: a flow that holds something may come to half of the whole, and an
// address to three quarters. The rest is for whoever comes next.
func (q *Queue) mayHold(w *waiter) bool {
	flow, peer := q.held[w.key], q.peers[w.key.Peer]
	within := func(s share, parts int64) bool {
		return s.slots == 0 || s.weight+w.weight <= q.Capacity*parts/4 &&
			int64(s.slots)+1 <= max(1, int64(q.Slots)*parts/4)
	}
	return within(flow, 2) && within(peer, 3)
}

// shed turns away the last comer of whoever has most waiting, when too many wait.
func (q *Queue) shed() {
	if len(q.waiters) <= q.Waiting {
		return
	}
	flows, peers := map[Key]int{}, map[string]int{}
	for _, w := range q.waiters {
		flows[w.key]++
		peers[w.key.Peer]++
	}
	last := q.waiters[0]
	for _, w := range q.waiters {
		more, most := peers[w.key.Peer], peers[last.key.Peer]
		if more > most || w.key.Peer == last.key.Peer && flows[w.key] >= flows[last.key] {
			last = w
		}
	}
	q.remove(last, true)
}

// remove takes a waiter off the queue and tells it what has become of it.
func (q *Queue) remove(w *waiter, turned bool) {
	for i, other := range q.waiters {
		if other == w {
			q.waiters = append(q.waiters[:i], q.waiters[i+1:]...)
			w.turned = turned
			close(w.admitted)
			return
		}
	}
}

// Load is how much is reserved now, and how many wait.
func (q *Queue) Load() (weight int64, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used.weight, len(q.waiters)
}
