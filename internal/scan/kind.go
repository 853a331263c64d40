// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/scan/index"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// Delays between two attempts to list a kind that can't be listed. The longest
// is also how late a kind whose CRD appears may be noticed.
const (
	firstRetry = time.Second
	lastRetry  = 15 * time.Second
	// stalledAfter is how long a list may bring nothing before old results stop
	// being taken for true.
	stalledAfter = 30 * time.Second
	// mostStalled is how often in a row that may be before the list is given up: the API server answers each page
	// within a minute.
	mostStalled = 4
)

var (
	// errStalled means that a list neither fails nor brings anything.
	errStalled = errors.New("no answer to the list")
	// errAsked means that somebody asked for a new pass, or its time came.
	errAsked = errors.New("a new pass was asked for")
)

// plan is what a pass over one kind judges by.
type plan struct {
	policies evaluator
	tallies  map[string]*index.Tally
}

// kindScan keeps the records of one kind true: it lists, judges, watches, and
// lists anew when the policies change, when the resync period is over, or when
// the watch breaks. Old records stay until the new list replaces them at once.
type kindScan struct {
	kind    schema.GroupKind
	scanner *Scanner
	plan    atomic.Pointer[plan]
	// again asks for a new pass; one request waits at most.
	again chan struct{}
	stop  context.CancelFunc
	done  chan struct{}
	// rested is when the kind may be listed for the sake of changed references, in nanoseconds since 1970.
	rested atomic.Int64
	// restedBriefly is the same for the sake of changed policies, and of somebody who waits for a pass.
	restedBriefly atomic.Int64
	// underway says that it is being listed.
	underway atomic.Bool
}

func (k *kindScan) restedAt() time.Time { return time.Unix(0, k.rested.Load()) }

func (k *kindScan) restedBrieflyAt() time.Time { return time.Unix(0, k.restedBriefly.Load()) }

// relist asks for a new pass. A pass under way ends first, so that frequent
// changes can't keep a kind from ever being listed.
func (k *kindScan) relist() {
	select {
	case k.again <- struct{}{}:
	default:
	}
}

func (k *kindScan) run(ctx context.Context) {
	defer close(k.done)
	delay := firstRetry
	for ctx.Err() == nil {
		p := &pass{scan: k, listed: make(chan struct{})}
		err := p.run(ctx)
		k.underway.Store(false)
		if p.isListed() {
			delay = firstRetry
		}
		if ctx.Err() != nil || errors.Is(err, errAsked) {
			continue
		}
		k.report(err)
		if listing.HasNoObjects(err) && !p.recorded.Load() {
			k.scanner.index.EndEmptyPass(k.kind, p.number)
		}
		k.rest(p, delay)
		k.pause(ctx, delay)
		delay = min(2*delay, lastRetry)
	}
}

// rest has the kind not be listed again for a while after a pass that failed: one whose list hasn't ended has cost as
// much as one that has.
func (k *kindScan) rest(p *pass, delay time.Duration) {
	now := k.scanner.clock.Now()
	k.restedBriefly.Store(now.Add(delay).UnixNano())
	if !p.isListed() && !p.started.IsZero() {
		k.rested.Store(now.Add(max(delay, referenceShare*now.Sub(p.started))).UnixNano())
	}
}

func (k *kindScan) report(err error) {
	s := k.scanner
	var known *listing.KindError
	if !errors.As(err, &known) {
		err = &listing.KindError{Kind: k.kind, Err: err}
	}
	s.index.Fail(k.kind, err.Error())
	if errors.Is(err, listing.ErrWatchEnded) {
		return
	}
	s.metrics.listFailures.WithLabelValues(k.kind.Group, k.kind.Kind).Inc()
	s.log.V(1).Info("can't scan a kind", "group", k.kind.Group, "kind", k.kind.Kind, "problem", err.Error())
	s.resolver.Refresh()
}

func (k *kindScan) pause(ctx context.Context, d time.Duration) {
	t := k.scanner.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-k.again:
	case <-t.C():
	}
}
