// SPDX-License-Identifier: Apache-2.0

package compiled

import "github.com/open-policy-agent/opa/v1/ast"

// Size is about the length of a value's JSON in bytes; where that is longer than most, more than most. Values share
// parts, so that a small one may be astronomically large when it is written out. A number that is no integer of
// 64 bits counts for more, as it takes the square of its digits to compare.
func Size(v ast.Value, most int64) int64 {
	const around = 2
	switch v := v.(type) {
	case ast.String:
		return around + int64(len(v))
	case ast.Number:
		if digits := int64(len(v)); digits > digitsOfInteger {
			return 100 + digits + digits*digits/40
		}
		return around + int64(len(v))
	case *ast.Array:
		bytes := int64(around)
		for i := 0; i < v.Len() && bytes <= most; i++ {
			bytes += Size(v.Elem(i).Value, most-bytes)
		}
		return bytes
	case ast.Set, ast.Object:
		return sizeOfKeys(v, most)
	default:
		return around + 4
	}
}

func sizeOfKeys(v ast.Value, most int64) (bytes int64) {
	add := func(t *ast.Term) bool {
		bytes += Size(t.Value, most-bytes)
		return bytes > most
	}
	switch v := v.(type) {
	case ast.Set:
		v.Until(add)
	case ast.Object:
		v.Until(func(key, value *ast.Term) bool { return add(key) || add(value) })
	}
	return bytes + 2
}
