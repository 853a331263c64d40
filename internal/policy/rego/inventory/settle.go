// SPDX-License-Identifier: Apache-2.0

package inventory

import "github.com/open-policy-agent/opa/v1/ast"

// Settle puts the keys of a value, and of all that it holds, in order for good. OPA does so in place when they are
// first compared: what several evaluations share is settled before, or one measures it while another sorts it.
// Nothing bounds how long it takes but how large the value is: what rules make may hold one part exponentially often.
func Settle(v ast.Value) {
	switch v := v.(type) {
	case *ast.Array:
		v.Foreach(func(element *ast.Term) { Settle(element.Value) })
	case ast.Set:
		v.Foreach(func(element *ast.Term) { Settle(element.Value) })
	case ast.Object:
		v.Foreach(func(key, value *ast.Term) {
			Settle(key.Value)
			Settle(value.Value)
		})
	}
}

// SettleKeys does so with the keys of an object alone, whose values are settled.
func SettleKeys(o ast.Object) { o.Foreach(func(_, _ *ast.Term) {}) }
