// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// mostRetries is how often in a row a partial pass is tried again before the whole kind is listed instead.
const mostRetries = 5

var (
	// errWholeKind means that a kind can't be gone through by namespace, or that there are too many of them.
	errWholeKind = errors.New("the whole kind has to be listed")
	// errOlder means that a list shows less than the watch.
	errOlder = errors.New("the list is older than what the watch has shown")
	// errIncomparable means that nobody can tell which of two versions is older.
	errIncomparable = errors.New("can't compare resourceVersions")
)

// partialPasses go through some namespaces of a kind again, one request after the other, beside the watch of a full
// pass: for changes on which no object elsewhere depends. Nobody who waits for a pass is served by one. What can't be
// done so, or fails again and again, is left to a full pass; other namespaces don't wait for that.
type partialPasses struct {
	of    *pass
	judge *judge
	// shown is the version up to which the watch has come.
	shown func() string
	// next is what waits for a slot, or until it is tried again.
	next *inventory.Namespaces
	// cancel ends the one that is under way; nil while none is.
	cancel context.CancelCauseFunc
	ended  chan outcome
	// came counts the pages that came and the objects that were judged, to tell a slow pass from one that stands still.
	came atomic.Int64
	// tries counts the retries in a row.
	tries int
	// retry tells that next may be tried again, and rest that the kind may be listed as a whole, once it has to be.
	retry, rest clock.Timer
}

// outcome is how a partial pass ended, with the namespaces that are left if it failed.
type outcome struct {
	left inventory.Namespaces
	err  error
}

func newPartialPasses(of *pass) *partialPasses {
	return &partialPasses{of: of, shown: of.reflector.LastSyncResourceVersion, ended: make(chan outcome, 1)}
}

// asked brings the next request, unless one is taken up. That the whole kind is to be listed is no reason to wait: it
// may rest for long.
func (p *partialPasses) asked() <-chan inventory.Namespaces {
	if p.next != nil || p.cancel != nil {
		return nil
	}
	return p.of.scan.some
}

// take takes a request up.
func (p *partialPasses) take(where inventory.Namespaces) { p.next = &where }

// slot takes one for what has been taken up: few kinds are listed at a time.
func (p *partialPasses) slot() chan<- struct{} {
	if p.next == nil || p.retry != nil {
		return nil
	}
	return p.of.scan.scanner.slots
}

// again tells that what failed may be tried again.
func (p *partialPasses) again() <-chan time.Time { return told(p.retry) }

// tryAgain has it wait for a slot.
func (p *partialPasses) tryAgain() { p.retry = nil }

// whole tells that it is time to list the whole kind instead.
func (p *partialPasses) whole() <-chan time.Time { return told(p.rest) }

func told(t clock.Timer) <-chan time.Time {
	if t == nil {
		return nil
	}
	return t.C()
}

// begin begins what has been taken up, in its slot.
func (p *partialPasses) begin(ctx context.Context) {
	s, where := p.of.scan.scanner, *p.next
	if p.judge == nil {
		p.judge = p.of.judge(p.of.mapping)
	}
	p.next = nil
	ctx, p.cancel = context.WithCancelCause(ctx)
	go p.heed(ctx, p.cancel, s.clock.NewTicker(stalledAfter))
	go func() {
		o := p.run(ctx, where)
		<-s.slots
		p.ended <- o
	}()
}

// heed ends one that stands still: it may take as long as it likes while something comes.
func (p *partialPasses) heed(ctx context.Context, cancel context.CancelCauseFunc, stalled clock.Ticker) {
	defer stalled.Stop()
	for before := p.came.Load(); ; {
		select {
		case <-ctx.Done():
			return
		case <-stalled.C():
		}
		now := p.came.Load()
		if now == before {
			cancel(errStalled)
			return
		}
		before = now
	}
}

// end takes note of the end of one. What may succeed in a moment is tried again; else the whole kind is listed once it
// has rested.
func (p *partialPasses) end(o outcome) {
	p.cancel(nil)
	p.cancel = nil
	if o.err == nil {
		p.tries = 0
		return
	}
	k := p.of.scan
	c := k.scanner.clock
	k.scanner.log.V(1).Info("can't go through some namespaces of a kind alone", "group", k.kind.Group, "kind",
		k.kind.Kind, "problem", o.err.Error())
	if p.tries < mostRetries && passes(o.err) {
		p.next, p.retry = &o.left, c.NewTimer(min(firstRetry<<p.tries, lastRetry))
		p.tries++
		return
	}
	p.tries = 0
	if p.rest == nil { // else a full pass that begins earlier does what is left as well
		p.rest = c.NewTimer(max(k.restedAt().Sub(c.Now()), 0))
	}
}

// passes says that the API server may answer the same request in a moment. One that has given no answer for long isn't
// asked again and again while others wait.
func passes(err error) bool {
	for _, lasting := range []error{errWholeKind, errOlder, errIncomparable, errStalled, context.Canceled} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	return kube.Classify(err) == kube.Transient && !apierrors.IsResourceExpired(err)
}

// stop returns when none is under way any more.
func (p *partialPasses) stop() {
	if p.cancel != nil {
		p.cancel(nil)
		<-p.ended
	}
	for _, t := range []clock.Timer{p.retry, p.rest} {
		if t != nil {
			t.Stop()
		}
	}
}

// run lists and judges anew what lives in some namespaces.
func (p *partialPasses) run(ctx context.Context, where inventory.Namespaces) outcome {
	k := p.of.scan
	if where.All() || p.of.mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return outcome{where, errWholeKind}
	}
	began := k.scanner.clock.Now()
	defer func() {
		now := k.scanner.clock.Now()
		k.restedPartly.Store(now.Add(referenceShare * now.Sub(began)).UnixNano())
	}()
	p.of.store.begin()
	defer p.of.store.end()
	names := where.Names()
	for i, name := range names {
		if err := p.namespace(ctx, name); err != nil {
			// Why it was cancelled says more than that it was.
			return outcome{inventory.InNamespaces(names[i:]...), cmp.Or(context.Cause(ctx), err)}
		}
	}
	return outcome{}
}

// namespace goes through one. What a list lacks isn't removed: the watch tells.
func (p *partialPasses) namespace(ctx context.Context, name string) error {
	s, reached := p.of.scan.scanner, p.shown()
	resource := s.client.Resource(p.of.mapping.Resource).Namespace(name)
	return listing.Pages(ctx, resource, s.opts.PageSize, func(list *unstructured.UnstructuredList) error {
		p.came.Add(1)
		if older, err := isOlder(list.GetResourceVersion(), reached); err != nil || older {
			return errors.Join(err, errOlder)
		}
		for i := range list.Items {
			u := &list.Items[i]
			j := p.judge.judge(ctx, u)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := p.of.store.renew(j, u.GetResourceVersion(), p.shown); err != nil {
				return err
			}
			p.came.Add(1)
		}
		return nil
	})
}
