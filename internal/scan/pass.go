// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// pass is one full list and the watch that follows it.
type pass struct {
	scan     *kindScan
	resource schema.GroupResource
	plan     *plan
	started  time.Time
	// number is the pass's among all, in the order in which they begin.
	number uint64
	// watching says that the latest attempt to watch worked.
	watching atomic.Bool
	listed   chan struct{}
	// recorded says that a list was recorded, be it that it can't be watched.
	recorded atomic.Bool
	// read counts the objects that came.
	read atomic.Int64
	// release gives back the slot of the pass.
	release func()
}

// run returns when the pass failed, its watch ended, or a new pass is due.
func (p *pass) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := p.acquire(ctx); err != nil {
		return err
	}
	defer p.release()
	p.drain()
	mapping, err := p.scan.scanner.resolver.Resolve(p.scan.kind)
	if err != nil {
		return p.explain(err)
	}
	p.resource = mapping.Resource.GroupResource()
	ended := make(chan error, 1)
	go func() { ended <- p.listAndWatch(ctx, mapping) }()
	err = p.await(ended)
	if errors.Is(err, errAsked) || errors.Is(err, errStalled) {
		cancel()
		<-ended
	}
	return err
}

// acquire waits for a slot: few kinds are listed at a time.
func (p *pass) acquire(ctx context.Context) error {
	select {
	case p.scan.scanner.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.release = sync.OnceFunc(func() { <-p.scan.scanner.slots })
	p.started = p.scan.scanner.clock.Now()
	return nil
}

// drain takes the requests that this pass will satisfy, then the newest plan, and begins.
func (p *pass) drain() {
	select {
	case <-p.scan.again:
	default:
	}
	p.scan.underway.Store(true)
	p.plan = p.scan.plan.Load()
	p.number = p.scan.scanner.index.BeginPass(p.scan.kind)
}

// await heeds requests only once the list is recorded.
func (p *pass) await(ended <-chan error) error {
	if err := p.awaitList(ended); err != nil {
		return err
	}
	resync := p.scan.scanner.clock.NewTimer(listing.Spread(p.scan.scanner.opts.ResyncPeriod, p.scan.kind.String()))
	defer resync.Stop()
	select {
	case err := <-ended:
		return err
	case <-p.scan.again:
		return errAsked
	case <-resync.C():
		p.scan.scanner.resolver.Refresh()
		return errAsked
	}
}

// awaitList says so when no object comes for a while: old results are no longer
// true then, though nothing has failed yet. When none comes for much longer the list is given up, so that it is tried
// again, and others get its slot: who holds its connection may never answer.
func (p *pass) awaitList(ended <-chan error) error {
	stalled := p.scan.scanner.clock.NewTicker(stalledAfter)
	defer stalled.Stop()
	before, silent := p.read.Load(), 0
	for {
		select {
		case err := <-ended:
			return err
		case <-p.listed:
			return nil
		case <-stalled.C():
		}
		now := p.read.Load()
		if now != before {
			before, silent = now, 0
			continue
		}
		p.scan.scanner.index.Fail(p.scan.kind, p.explain(errStalled).Error())
		if silent++; silent == mostStalled {
			return p.explain(errStalled)
		}
	}
}

func (p *pass) isListed() bool {
	select {
	case <-p.listed:
		return true
	default:
		return false
	}
}

func (p *pass) listAndWatch(ctx context.Context, m *meta.RESTMapping) error {
	s := p.scan.scanner
	st := &store{ctx: ctx, index: s.index, kind: p.scan.kind, listed: p.onListed, read: &p.read, judge: p.judge(m)}
	lw := st.beginning(listing.ListWatch(s.client.Resource(m.Resource), s.opts.PageSize, st.toJudged, p.onWatch))
	r := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, s.client), nil, st,
		cache.ReflectorOptions{
			Name: "scan", TypeDescription: p.resource.String(), Clock: s.clock,
			Backoff: &wait.Backoff{Duration: firstRetry, Factor: 2, Steps: 5, Cap: lastRetry},
		})
	if err := r.ListAndWatchWithContext(ctx); err != nil {
		return p.explain(err)
	}
	return listing.ErrWatchEnded
}

func (p *pass) judge(m *meta.RESTMapping) *judge {
	s := p.scan.scanner
	return &judge{
		policies: p.plan.policies, tallies: p.plan.tallies,
		kind: policy.GroupVersionKind{Group: m.GroupVersionKind.Group,
			Version: m.GroupVersionKind.Version, Kind: m.GroupVersionKind.Kind},
		resource: m.Resource.Resource, namespaces: s.namespaces, clock: s.clock,
		gone:   func(name string) bool { return p.scan.plan.Load().tallies[name] == nil },
		failed: func(name string) { s.metrics.evaluationErrors.WithLabelValues(name).Inc() },
	}
}

func (p *pass) explain(err error) error {
	return &listing.KindError{Kind: p.scan.kind, Resource: p.resource, Err: err}
}

func (p *pass) onListed() {
	p.recorded.Store(true)
	if p.watching.Load() {
		p.markListed()
	}
}

// onWatch is called at each attempt to watch. The reflector answers a failed
// streaming list with a paged one, and tries an unreachable server again without
// a word, which must be told here.
func (p *pass) onWatch(initial bool, err error) {
	p.watching.Store(err == nil)
	switch {
	case err != nil && (!initial || listing.Unreachable(err)):
		p.scan.scanner.index.Fail(p.scan.kind, p.explain(err).Error())
	case err == nil && !initial && p.isListed():
		p.scan.scanner.index.Resume(p.scan.kind)
	case err == nil && !initial:
		p.markListed()
	}
}

func (p *pass) markListed() {
	s := p.scan.scanner
	now := s.clock.Now()
	s.index.MarkListed(p.scan.kind, p.plan.tallies, now)
	s.metrics.duration.Observe(now.Sub(p.started).Seconds())
	took := now.Sub(p.started)
	p.scan.rested.Store(now.Add(referenceShare * took).UnixNano())
	p.scan.restedBriefly.Store(now.Add(s.opts.rest(took)).UnixNano())
	p.scan.underway.Store(false)
	s.index.EndPass(p.scan.kind, p.plan.tallies, p.number)
	close(p.listed)
	p.release()
}
