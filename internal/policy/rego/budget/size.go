// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
)

// Size is compiled.Size.
func Size(v ast.Value, most int64) int64 { return compiled.Size(v, most) }

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
