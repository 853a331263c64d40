// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
)

// maxNeighbours bounds how many objects a pass reads for the sake of its targets' neighbours.
const maxNeighbours = 200

// neighbourhood is what a pass has found of the objects that began to violate: each is read once, and judged once by
// each policy, for all targets together. Only those who ask for the same wait for it. Its zero value has found nothing
// yet.
type neighbourhood struct {
	mu       sync.Mutex
	known    map[string]*found[neighbour]
	suspects map[string]*found[suspicion]
	// unwritten is what all targets that are checked have written.
	unwritten found[*writtenObjects]
}

// found is something that is looked for once.
type found[T any] struct {
	once sync.Once
	is   T
}

func (f *found[T]) by(look func() T) T {
	f.once.Do(func() { f.is = look() })
	return f.is
}

// among is what is kept under a key, as long as there are fewer than most; nil beyond.
func among[T any](mu *sync.Mutex, all *map[string]*found[T], key string, most int) *found[T] {
	mu.Lock()
	defer mu.Unlock()
	if f := (*all)[key]; f != nil {
		return f
	}
	if len(*all) >= most {
		return nil
	}
	if *all == nil {
		*all = map[string]*found[T]{}
	}
	(*all)[key] = &found[T]{}
	return (*all)[key]
}

// neighbour is an object that began to violate; without one and an error, it is gone or another one has its name.
type neighbour struct {
	obj *unstructured.Unstructured
	err error
}

// suspicion are the violations of a neighbour that the pass's targets may have brought.
type suspicion struct {
	violations []policy.Violation
	err        error
}

// read gives a neighbour as it is in this pass.
func (h *neighbourhood) read(ctx context.Context, p *Pass, ref v1alpha1.ObjectReference) neighbour {
	n := among(&h.mu, &h.known, ref.UID, maxNeighbours)
	if n == nil {
		return neighbour{err: fmt.Errorf("more than %d objects began to violate what may depend on this plan's writes",
			maxNeighbours)}
	}
	return n.by(func() neighbour { return p.neighbour(ctx, ref) })
}

func (p *Pass) neighbour(ctx context.Context, ref v1alpha1.ObjectReference) neighbour {
	obj, err := p.Targets.Read(ctx, ref)
	switch {
	case kube.Classify(err) == kube.Gone, err == nil && string(obj.GetUID()) != ref.UID:
		return neighbour{}
	case err != nil:
		return neighbour{err: fmt.Errorf("it couldn't be read: %w", err)}
	}
	return neighbour{obj: obj}
}

// suspect judges a neighbour, and again as if none of the pass's targets had been written: what it violates then, too,
// none of them has brought.
func (h *neighbourhood) suspect(ctx context.Context, p *Pass, policyName string,
	obj *unstructured.Unstructured) suspicion {
	// There are no more of them than neighbours, for each policy.
	s := among(&h.mu, &h.suspects, policyName+"/"+string(obj.GetUID()), math.MaxInt)
	return s.by(func() (s suspicion) {
		now, matched, err := p.Targets.Judge(ctx, p.Snapshot, policyName, obj)
		if err != nil {
			return suspicion{err: unreadNamespace(err)}
		}
		if s.err = unknownOf(now.Err); matched && now.Err == nil {
			s.violations = now.Enforced()
		}
		all := h.unwritten.by(func() *writtenObjects { return p.allWritten(ctx) })
		if len(s.violations) > 0 && all != nil {
			s.violations, s.err = p.without(ctx, policyName, obj, *all, s.violations)
		}
		return s
	})
}

func unreadNamespace(err error) error { return fmt.Errorf("its namespace couldn't be read: %w", err) }

// allWritten is what the writes of all targets that the pass checks have changed and made. It is nil when that isn't
// known, or one of them can't be read: then each is asked about by itself.
func (p *Pass) allWritten(ctx context.Context) *writtenObjects {
	if len(p.checking) == 0 {
		return nil
	}
	all := &writtenObjects{}
	for _, i := range p.checking {
		rec, ref := p.Records.Record(i), p.Records.Target(i).Object
		if rec.Write == nil {
			continue
		}
		obj, err := p.Targets.Read(ctx, ref)
		removed := fix.Removes(rec.Write) && rec.Write.Manifest != nil
		if removed {
			obj, err = fix.ManifestOf(rec.Write)
		}
		switch {
		case kube.Classify(err) == kube.Gone, err == nil && !removed && string(obj.GetUID()) != ref.UID:
			continue // nothing of our write is left
		case err != nil:
			return nil
		}
		w := p.writtenBy(obj, rec)
		all.before, all.made = append(all.before, w.before...), append(all.made, w.made...)
	}
	return all
}
