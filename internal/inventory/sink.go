// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// sink takes what a reflector reads of one kind into a table: each object is made compact as it comes,
// and its body dropped.
type sink struct {
	kind  schema.GroupVersionKind
	table *inventory.Table
	share *share
	// changed is told that what rules may see has changed.
	changed func()
	// listed is told that the table holds all there is, and read that a list has ended.
	listed, read func()
	// heard is told of each event of a watch, bookmarks too.
	heard func()
	// fail is told that an object can't be kept, so that the kind isn't known any more.
	fail func(error)
	// nothing stands for each object that isn't kept, for which there is no memory for one: an error would have the
	// reflector log each and leave it out.
	nothing kept
	// came counts what lists have brought.
	came atomic.Int64

	mu sync.Mutex
	// aside are the objects by key while the table is somebody else's to fill; nil when it isn't.
	aside map[string]inventory.Item
}

// errNoRoom means that a list is left out because its kind has to go; who asks for the kind is told why.
var errNoRoom = errors.New("there is no memory left for it")

var (
	_ cache.TransformingStore      = (*sink)(nil)
	_ cache.ResourceVersionUpdater = (*sink)(nil)
)

// UpdateResourceVersion is called by the reflector for each event of its watch, bookmarks too.
func (s *sink) UpdateResourceVersion(string) {
	if s.heard != nil {
		s.heard()
	}
}

// kept is an object as the table keeps it.
type kept struct {
	key  string
	item inventory.Item
}

func (*kept) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the same value: it is immutable.
func (k *kept) DeepCopyObject() runtime.Object { return k }

func (s *sink) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.collect(obj) }
}

// beginning has each list take its memory from its beginning: what an attempt before it had read is gone.
func (s *sink) beginning(lw *cache.ListWatch) *cache.ListWatch {
	list, watches := lw.ListWithContextFunc, lw.WatchFuncWithContext
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			s.share.begin()
			return list(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil && *o.SendInitialEvents {
				s.share.begin()
			}
			return watches(ctx, o)
		},
	}
}

// collect makes an object of a list compact, and takes the memory for it. Once there is none, nothing is kept of
// what a list still brings until it ends.
func (s *sink) collect(obj any) (*kept, error) {
	s.came.Add(1)
	if s.share.isRefused() {
		return &s.nothing, nil
	}
	k, err := s.compact(obj)
	if err == nil && !s.share.list(k.item.Bytes()) {
		return &s.nothing, nil
	}
	return k, err
}

func (s *sink) compact(obj any) (*kept, error) {
	switch o := obj.(type) {
	case *kept:
		return o, nil
	case *unstructured.Unstructured:
		o.SetGroupVersionKind(s.kind) // a list's items need not say
		item, err := s.table.Compact(o)
		if err != nil {
			s.fail(&keepError{object: cache.MetaObjectToName(o).String(), err: err})
			return &s.nothing, nil
		}
		return &kept{key: cache.MetaObjectToName(o).String(), item: item}, nil
	default:
		return nil, fmt.Errorf("can't keep a %T", obj)
	}
}

func (s *sink) Add(obj any) error {
	k, err := s.compact(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k == &s.nothing {
		return nil
	}
	if s.aside != nil {
		if s.share.list(k.item.Bytes()) {
			s.aside[k.key] = k.item
		}
		return nil
	}
	if s.share.keep(s.table.Growth(k.item)) && s.table.Put(k.item) {
		s.changed()
	}
	return nil
}

func (s *sink) Update(obj any) error { return s.Add(obj) }

func (s *sink) Delete(obj any) error {
	of, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		return fmt.Errorf("name a deleted object: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aside != nil {
		delete(s.aside, of.String())
		return nil
	}
	before := s.table.Bytes()
	if s.table.Delete(of.Namespace, of.Name) {
		s.share.keep(s.table.Bytes() - before)
		s.changed()
	}
	return nil
}

func (s *sink) Replace(objs []any, _ string) error {
	items := make(map[string]inventory.Item, len(objs))
	for _, obj := range objs {
		k, err := s.compact(obj)
		if err != nil {
			return err
		}
		items[k.key] = k.item
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.read()
	if s.aside != nil {
		s.aside = items
		return nil
	}
	return s.keep(items)
}

// unfold keeps what was put aside: the table is the sink's to fill from now on.
func (s *sink) unfold() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := s.aside
	s.aside = nil
	return s.keep(items)
}

func (s *sink) isAside() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aside != nil
}

// keep has the table hold these objects and no others.
func (s *sink) keep(items map[string]inventory.Item) error {
	changed := s.table.Replace(slices.Collect(maps.Values(items)))
	if !s.share.commit(s.table) {
		return errNoRoom
	}
	s.listed()
	if changed {
		s.changed()
	}
	return nil
}

// Resync does nothing: the truth is fetched anew, see follower.
func (*sink) Resync() error { return nil }
