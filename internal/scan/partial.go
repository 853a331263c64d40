// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/index"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

var (
	// errWholeKind means that a kind can't be gone through by namespace, or that there are too many of them.
	errWholeKind = errors.New("the whole kind has to be listed")
	// errOlder means that a list shows less than the watch.
	errOlder = errors.New("the list is older than what the watch has shown")
)

// partialPasses go through some namespaces of a kind again, one request after the other, beside the watch of a full
// pass: for changes on which no object elsewhere depends. Nobody who waits for a pass is served by one. What can't be
// done so is left to a full pass.
type partialPasses struct {
	of    *pass
	judge *judge
	// next is what waits for a slot.
	next *inventory.Namespaces
	// cancel ends the one that is under way; nil while none is.
	cancel context.CancelFunc
	ended  chan error
	// timeout tells that one takes too long, and rest that the kind may be listed as a whole, once it has to be.
	timeout, rest clock.Timer
}

func newPartialPasses(of *pass) *partialPasses {
	return &partialPasses{of: of, ended: make(chan error, 1)}
}

// asked brings the next request, unless one is taken up, or the whole kind is to be listed anyway.
func (p *partialPasses) asked() <-chan inventory.Namespaces {
	if p.next != nil || p.cancel != nil || p.rest != nil {
		return nil
	}
	return p.of.scan.some
}

// take takes a request up.
func (p *partialPasses) take(where inventory.Namespaces) { p.next = &where }

// slot takes one for what has been taken up: few kinds are listed at a time.
func (p *partialPasses) slot() chan<- struct{} {
	if p.next == nil {
		return nil
	}
	return p.of.scan.scanner.slots
}

func (p *partialPasses) late() <-chan time.Time { return told(p.timeout) }

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
	ctx, p.cancel = context.WithCancel(ctx)
	p.timeout = s.clock.NewTimer(stalledAfter)
	go func() {
		err := p.run(ctx, where)
		<-s.slots
		p.ended <- err
	}()
}

// end takes note of the end of one. If it couldn't be done, the whole kind is listed once it has rested.
func (p *partialPasses) end(err error) {
	p.cancel()
	p.timeout.Stop()
	p.cancel, p.timeout = nil, nil
	if err == nil {
		return
	}
	k := p.of.scan
	now := k.scanner.clock.Now()
	k.scanner.log.V(1).Info("can't go through some namespaces of a kind alone", "group", k.kind.Group, "kind",
		k.kind.Kind, "problem", err.Error())
	p.rest = k.scanner.clock.NewTimer(max(k.restedAt().Sub(now), 0))
}

// stop returns when none is under way any more.
func (p *partialPasses) stop() {
	if p.cancel != nil {
		p.cancel()
		p.end(<-p.ended)
	}
	if p.rest != nil {
		p.rest.Stop()
	}
}

// run lists and judges anew what lives in some namespaces.
func (p *partialPasses) run(ctx context.Context, where inventory.Namespaces) error {
	k := p.of.scan
	if where.All() || p.of.mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return errWholeKind
	}
	began := k.scanner.clock.Now()
	defer func() {
		now := k.scanner.clock.Now()
		k.restedPartly.Store(now.Add(referenceShare * now.Sub(began)).UnixNano())
	}()
	p.of.store.begin()
	defer p.of.store.end()
	for _, name := range where.Names() {
		if err := p.namespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// namespace goes through one. What a list lacks isn't removed: the watch tells.
func (p *partialPasses) namespace(ctx context.Context, name string) error {
	s, shown := p.of.scan.scanner, p.of.reflector.LastSyncResourceVersion
	resource, reached := s.client.Resource(p.of.mapping.Resource).Namespace(name), shown()
	return listing.Pages(ctx, resource, s.opts.PageSize, func(list *unstructured.UnstructuredList) error {
		if older, err := isOlder(list.GetResourceVersion(), reached); err != nil || older {
			return errors.Join(err, errOlder)
		}
		for i := range list.Items {
			u := &list.Items[i]
			j := p.judge.judge(ctx, u)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := p.of.store.renew(j, u.GetResourceVersion(), shown); err != nil {
				return err
			}
		}
		return nil
	})
}

// begin says that a partial pass begins: whatever the watch brings from now on is judged by what there is now, or by
// something newer.
func (s *store) begin() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.touched = map[string]bool{}
}

func (s *store) end() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.touched = nil
}

// renew records a verdict of a partial pass on an object of a version, unless the watch has brought the object since
// the pass began, or brings that version yet: its own verdict is as new. So none ever takes the place of one on a newer
// version, no matter how far the watch lags behind.
func (s *store) renew(j *index.Judged, version string, shown func() string) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.touched[j.Key] {
		return nil
	}
	ahead, err := isOlder(shown(), version)
	if err == nil && !ahead {
		s.index.Put(s.kind, j)
	}
	return err
}

// isOlder says that one resourceVersion is older than another.
func isOlder(one, other string) (bool, error) {
	order, err := resourceversion.CompareResourceVersion(one, other)
	if err != nil {
		return false, fmt.Errorf("compare resourceVersions: %w", err)
	}
	return order < 0, nil
}
