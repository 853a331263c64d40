// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"reflect"
	"sync"
)

// ManagedFields are the metadata.managedFields of objects that were decoded without them: few policies read them, and
// they are often the larger part of an object. Each is known by the metadata that lacks it, so that it goes with that
// from one request to another. It is safe for concurrent use once all are added.
type ManagedFields struct{ of []managedFields }

// managedFields are those of one object. whole is its metadata with them, made once.
type managedFields struct {
	metadata map[string]any
	whole    func() (map[string]any, error)
}

// Add adds those of an object, which decode decodes once somebody asks for them.
func (m *ManagedFields) Add(object map[string]any, decode func() ([]any, error)) {
	metadata := Metadata(object)
	m.of = append(m.of, managedFields{metadata: metadata, whole: sync.OnceValues(func() (map[string]any, error) {
		entries, err := decode()
		if err != nil {
			return nil, fmt.Errorf("the managed fields can't be decoded: %w", err)
		}
		whole := maps.Clone(metadata)
		whole["managedFields"] = entries
		return whole, nil
	})})
}

// Whole is the request with the managed fields of its objects. It errs where they can't be decoded.
func (r *Request) Whole() (*Request, error) {
	if r.ManagedFields == nil {
		return r, nil
	}
	own := *r
	own.ManagedFields = nil
	for _, object := range []*map[string]any{&own.Object, &own.OldObject} {
		for i := range r.ManagedFields.of {
			whole, err := r.ManagedFields.of[i].with(*object)
			if err != nil {
				return nil, err
			}
			*object = whole
		}
	}
	return &own, nil
}

// with is an object with its managed fields; the object itself where they are another's.
func (m *managedFields) with(object map[string]any) (map[string]any, error) {
	metadata := Metadata(object)
	if metadata == nil || reflect.ValueOf(metadata).Pointer() != reflect.ValueOf(m.metadata).Pointer() {
		return object, nil
	}
	all, err := m.whole()
	if err != nil {
		return nil, err
	}
	whole := maps.Clone(object)
	whole["metadata"] = all
	return whole, nil
}
