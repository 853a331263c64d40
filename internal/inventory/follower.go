// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// Delays between two attempts to follow a kind.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 15 * time.Second
	// patience is how long a replica isn't ready for the sake of a list that neither ends nor fails.
	patience = 30 * time.Second
	// stalledLook is how often it is looked whether a list has brought anything since, and given up where it hasn't:
	// the API server answers each page within a minute.
	stalledLook = time.Minute
)

var (
	errNotListed = errors.New("its objects aren't listed yet: try again in a moment")
	errBehind    = errors.New("its watch hasn't shown the newest change yet")
	errStalled   = errors.New("no answer to the list")
	errSilent    = errors.New("its watch stands, and brings nothing, not even what the API server sends each minute " +
		"to show that it is whole")
)

// follower keeps one reference's table in step with the cluster.
type follower struct {
	reference inventory.Reference
	store     *Store
	key       string
	stop      context.CancelFunc
	began     time.Time
	share     *share
	// again asks a follower that waits to try at once.
	again chan struct{}

	mu sync.Mutex
	// halt ends the pass that is under way, for a reason.
	halt context.CancelCauseFunc
	// held is nil until the kind was listed.
	held *inventory.Table
	// watched is what fills the table now; seen is how far what filled it before had come.
	watched interface{ LastSyncResourceVersion() string }
	seen    string
	// asked says that a list has ended or failed.
	asked bool
	// broken is since when the watch has been; zero while it isn't. stale says that this was told.
	broken time.Time
	// last is when something was heard of the watch last; zero before the first list.
	last    time.Time
	stale   bool
	problem error
	// told is the last reason that was told for which the kind isn't known, if reviewed; empty: it is.
	told     string
	reviewed bool
}

func newFollower(s *Store, r inventory.Reference) *follower {
	f := &follower{reference: r, store: s, key: r.Key(), began: s.options.Clock.Now(), again: make(chan struct{}, 1),
		stop: func() {}}
	f.share = s.memory.join(f.key, f.refuse)
	return f
}

// table is what is held, or why that isn't to be relied on.
func (f *follower) table() (*inventory.Table, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.held == nil && f.problem != nil:
		return nil, f.problem
	case f.held == nil:
		return nil, errNotListed
	case f.overdue():
		return nil, &staleError{cmp.Or(f.problem, errSilent)}
	}
	return f.held, nil
}

func (f *follower) tried() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked || f.store.options.Clock.Since(f.began) > patience
}

func (f *follower) run(ctx context.Context) {
	defer f.stop()
	defer f.share.leave()
	broken, tooLarge := backoff{first: firstRetry, last: lastRetry}, backoff{first: firstRefit, last: lastRefit}
	for ctx.Err() == nil {
		began := f.store.options.Clock.Now()
		err := (&pass{follower: f}).run(ctx)
		if ctx.Err() != nil {
			return
		}
		f.failed(err)
		f.store.options.Resolver.Refresh() // another version may be served by now
		lasted := f.store.options.Clock.Since(began)
		if lost(err) {
			f.pause(ctx, tooLarge.after(lasted))
		} else {
			f.pause(ctx, broken.after(lasted))
		}
	}
}

// listed says that the table holds all there is.
func (f *follower) listed(table *inventory.Table) {
	f.mu.Lock()
	if f.share.isRefused() {
		f.mu.Unlock()
		return
	}
	first := f.held != table
	f.held, f.asked, f.problem = table, true, nil
	wasStale := f.heard()
	f.mu.Unlock()
	if wasStale || first {
		f.store.tellKnown(f.key)
	}
	f.review()
}

// overdue says that the watch has been broken, or silent, for so long that what was seen counts as unknown. It is
// called under the lock.
func (f *follower) overdue() bool {
	o := &f.store.options
	return !f.broken.IsZero() && o.Clock.Since(f.broken) > o.MaxStaleness ||
		!f.last.IsZero() && o.Clock.Since(f.last) > o.MaxSilence+o.MaxStaleness
}

// silent says that nothing has come by the watch for so long that the kind is to be listed anew.
func (f *follower) silent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.last.IsZero() && f.store.options.Clock.Since(f.last) > f.store.options.MaxSilence
}

// alive notes that the watch has brought something.
func (f *follower) alive() {
	f.mu.Lock()
	wasStale := f.heard()
	f.mu.Unlock()
	if wasStale {
		f.store.tellKnown(f.key)
		f.review()
	}
}

// heard says that the watch is whole, and whether what was seen had counted as unknown before. It is called under
// the lock.
func (f *follower) heard() (wasStale bool) { return f.whole(f.store.options.Clock.Now()) }

// resumed notes that the watch goes on. Whether it brings anything is to be seen: one that is cut and opened again and
// again is as silent as one that stands, and an API server that has forgotten our version says so by the first event.
func (f *follower) resumed() {
	f.mu.Lock()
	wasStale := f.whole(f.last)
	f.mu.Unlock()
	if wasStale {
		f.store.tellKnown(f.key)
	}
	f.review()
}

// whole says that the watch isn't broken any more and has brought something at that time, and whether what was seen
// counts again and hadn't before. It is called under the lock.
func (f *follower) whole(last time.Time) (again bool) {
	overdue := f.overdue()
	if overdue && !f.stale {
		f.reviewed = false // nobody was told, and somebody may have seen it
	}
	f.broken, f.last = time.Time{}, last
	if f.held != nil {
		f.problem = nil
	}
	if f.overdue() {
		return false
	}
	again, f.stale = f.stale || overdue, false
	return again
}

// onWatch is told how each attempt to watch ended.
func (f *follower) onWatch(initial bool, err error) {
	if err != nil {
		if !initial || listing.Unreachable(err) {
			f.failed(err)
		}
		return
	}
	if initial {
		return // what it brings isn't there yet
	}
	f.resumed()
}

// failed notes since when nothing is heard, and why.
func (f *follower) failed(err error) {
	f.mu.Lock()
	f.asked, f.problem = true, err
	if f.broken.IsZero() {
		f.broken = f.store.options.Clock.Now()
	}
	f.mu.Unlock()
	f.expire()
	f.review()
	f.log(err)
}

func (f *follower) log(err error) {
	f.store.options.Log.V(1).Info("can't follow what policies refer to", "kind", f.reference.String(), "problem",
		err.Error())
}

// expire tells once when what was seen has become too old: verdicts by it are true no more.
func (f *follower) expire() {
	f.mu.Lock()
	expired := !f.stale && f.overdue()
	f.stale = f.stale || expired
	f.mu.Unlock()
	if expired {
		f.store.tell(f.key)
		f.review()
	}
}
