// SPDX-License-Identifier: Apache-2.0

package size

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
)

// sizer adds up what a value is as text, and stops when it is too much: values may
// share parts, so that a small one is astronomically large as text.
type sizer struct {
	left, bytes int64
}

// Text is about the length of a value's JSON; more than limit where it is
// longer than limit.
func Text(v ast.Value, limit int64) int64 {
	s := &sizer{left: limit}
	s.add(v)
	return s.bytes
}

func (s *sizer) spend(n int64) {
	s.bytes += n
	s.left -= n
}

func (s *sizer) add(v ast.Value) {
	s.spend(2)
	switch v := v.(type) {
	case ast.String:
		s.spend(int64(len(v)))
	case ast.Number:
		s.spend(int64(len(v)))
	case *ast.Array:
		for i := 0; i < v.Len() && s.left >= 0; i++ {
			s.add(v.Elem(i).Value)
		}
	case ast.Set:
		_ = v.Iter(func(element *ast.Term) error { return s.inside(element) })
	case ast.Object:
		_ = v.Iter(func(key, value *ast.Term) error {
			if err := s.inside(key); err != nil {
				return err
			}
			return s.inside(value)
		})
	default:
		s.spend(4)
	}
}

func (s *sizer) inside(t *ast.Term) error {
	if s.left < 0 {
		return errTooLarge
	}
	s.add(t.Value)
	return nil
}

// errTooLarge ends a walk over a value.
var errTooLarge = errors.New("it is too large")

// Length is the number of elements of a collection, 0 of anything else.
func Length(v ast.Value) int64 {
	switch v := v.(type) {
	case *ast.Array:
		return int64(v.Len())
	case ast.Set:
		return int64(v.Len())
	case ast.Object:
		return int64(v.Len())
	}
	return 0
}
