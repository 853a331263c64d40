// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Size is about the length of a value's JSON in bytes; where that is longer than most, more than most. Values share
// parts, so that a small one may be astronomically large when it is written out. A number beyond 64 bits counts for the
// text that takes as long to compare: the square of its digits.
func Size(v ast.Value, most int64) int64 {
	const around = 2
	switch v := v.(type) {
	case ast.String:
		return around + int64(len(v))
	case ast.Number:
		if digits := int64(len(v)); digits > 19 {
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

// lengthOf is how long a text is, or how many elements a collection has.
func lengthOf(t *ast.Term) int64 {
	switch v := t.Value.(type) {
	case ast.String:
		return int64(len(v))
	case *ast.Array:
		return int64(v.Len())
	case ast.Set:
		return int64(v.Len())
	case ast.Object:
		return int64(v.Len())
	}
	return 1
}

// maxDigits is how long a number may be that is calculated with.
const maxDigits = 400

// fewDigits reports whether a number, in decimal with an exponent perhaps, has few digits when it is written out.
func fewDigits(number string) bool {
	at := strings.IndexAny(number, "eE")
	if at < 0 || len(number) > maxDigits {
		return len(number) <= maxDigits
	}
	exponent := strings.TrimLeft(number[at+1:], "+-")
	if end := strings.IndexFunc(exponent, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		exponent = exponent[:end] // of a quantity
	}
	value, err := strconv.Atoi("0" + exponent)
	return err == nil && value <= maxDigits
}
