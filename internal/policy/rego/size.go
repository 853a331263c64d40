package rego

import (
	"math"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Bounds of what an evaluation may make and give.
const (
	// maxResult is the most that one call of a built-in may make, in bytes.
	maxResult = 16 << 20
	// maxMade is the most that the built-ins of one evaluation may make together.
	maxMade = 128 << 20
	// maxElements is the most elements that one call may make.
	maxElements = 250_000
	// maxDigits is the longest number that is calculated with.
	maxDigits = 400
	// maxParsed is the longest text that is parsed as JSON, YAML, a key or a token.
	maxParsed = 1 << 20
	// maxKeys is the longest text that is parsed as keys, certificates and tokens.
	maxKeys = 64 << 10
	// maxFound is the most elements that are read of one part of a rule.
	maxFound = 10_000
	// maxMessage, maxPath and maxDetails are the most bytes of a violation's parts;
	// maxText of all that a decision says.
	maxMessage = 4 << 10
	maxPath    = 4 << 10
	maxDetails = 64 << 10
	maxText    = 8 << 20
	// maxFix is the most bytes of all actions together.
	maxFix = 2 << 20
	// bytesOfElement is what an element takes besides what it holds.
	bytesOfElement = 32
)

// sizer adds up what a value is as text, and stops when it is too much: values may
// share parts, so that a small one is astronomically large as text.
type sizer struct {
	left, bytes int64
}

// textSize is about the length of a value's JSON; more than limit where it is
// longer than limit.
func textSize(v ast.Value, limit int64) int64 {
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

// sized ends a walk over a value.
type sized string

func (s sized) Error() string { return string(s) }

const (
	errTooLarge = sized("it is too large")
	errTooMany  = sized("it holds too many elements: at most 10000 are read")
)

// lengthOf is the number of elements of a collection, 0 of anything else.
func lengthOf(v ast.Value) int64 {
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

// times multiplies lengths, and stays at the largest number where it would leave
// it.
func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// plus adds lengths likewise.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
