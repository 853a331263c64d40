// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/index"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

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
		return false, fmt.Errorf("%w: %w", errIncomparable, err)
	}
	return order < 0, nil
}
