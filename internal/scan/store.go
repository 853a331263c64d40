// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"evenkeel.dev/evenkeel/internal/scan/index"
)

// store takes what a reflector reads of one kind, judges it and records the
// verdict. A body is dropped as soon as it has been judged: see beginning.
type store struct {
	// ctx is the pass's: evaluation stops with it.
	ctx   context.Context
	index *index.Index
	kind  schema.GroupKind
	judge *judge
	// listed is called when a full list has been recorded.
	listed func()
	// read counts the objects that came.
	read *atomic.Int64
	// turn is held while an object that the watch brings is judged and its verdict recorded.
	turn sync.Mutex
	// touched are the objects that the watch has brought since a partial pass began; nil while none is under way.
	touched map[string]bool
	// streamed is the list that the latest watch began with; nil when the list comes in pages.
	streamed *index.List
}

var _ cache.TransformingStore = (*store)(nil)

// Transformer judges an object on its way in.
func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.toJudged(obj) }
}

func (s *store) toJudged(obj any) (*index.Judged, error) {
	switch o := obj.(type) {
	case *index.Judged:
		return o, nil
	case *unstructured.Unstructured:
		s.read.Add(1)
		return s.judge.judge(s.ctx, o), nil
	default:
		return nil, fmt.Errorf("scan %s: can't judge a %T", s.kind, obj)
	}
}

// Add records an object that appeared.
func (s *store) Add(obj any) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	j, err := s.toJudged(obj)
	if err != nil {
		return err
	}
	if s.ctx.Err() == nil {
		s.touch(j.Key)
		s.index.Put(s.kind, j)
	}
	return nil
}

// touch is called in turn.
func (s *store) touch(key string) {
	if s.touched != nil {
		s.touched[key] = true
	}
}

// Update records an object that changed.
func (s *store) Update(obj any) error { return s.Add(obj) }

// Delete forgets an object.
func (s *store) Delete(obj any) error {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return fmt.Errorf("scan %s: name a deleted object: %w", s.kind, err)
	}
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return fmt.Errorf("scan %s: name a deleted object: %w", s.kind, err)
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.touch(index.KeyOf(namespace, name))
	s.index.Remove(s.kind, index.KeyOf(namespace, name))
	return nil
}

// Replace records a full list: the one that was streamed, or else these objects.
func (s *store) Replace(objs []any, _ string) error {
	list := s.streamed
	s.streamed = nil
	if list == nil {
		list = index.NewList()
	}
	for _, obj := range objs {
		j, err := s.toJudged(obj)
		if err != nil {
			return err
		}
		list.Put(j)
	}
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("scan %s: %w", s.kind, err)
	}
	s.index.Replace(s.kind, s.judge.kind.APIVersion(), list)
	s.listed()
	return nil
}

// Resync does nothing: the truth is fetched anew, see kindScan.
func (s *store) Resync() error { return nil }

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
