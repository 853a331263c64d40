// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// streamed is the list that the latest watch began with; nil when the list comes in pages.
	streamed *index.List
}

var _ cache.TransformingStore = (*store)(nil)

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

func (s *store) Add(obj any) error {
	j, err := s.toJudged(obj)
	if err != nil {
		return err
	}
	if s.ctx.Err() == nil {
		s.index.Put(s.kind, j)
	}
	return nil
}

func (s *store) Update(obj any) error { return s.Add(obj) }

func (s *store) Delete(obj any) error {
	of, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		return fmt.Errorf("scan %s: name a deleted object: %w", s.kind, err)
	}
	s.index.Remove(s.kind, index.KeyOf(of.Namespace, of.Name))
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
