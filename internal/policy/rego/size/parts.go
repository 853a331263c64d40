// SPDX-License-Identifier: Apache-2.0

package size

import "github.com/open-policy-agent/opa/v1/ast"

// Parts counts the values that a value holds, itself and keys among them, each as often as it is held; it stops once
// there are at least so many.
func Parts(v ast.Value, most int) (n int) {
	n = 1
	add := func(t *ast.Term) bool {
		n += Parts(t.Value, most-n)
		return n < most
	}
	switch v := v.(type) {
	case *ast.Array:
		for i := 0; i < v.Len() && add(v.Elem(i)); i++ {
		}
	case ast.Set:
		for _, element := range Elements(v) {
			if !add(element) {
				break
			}
		}
	case ast.Object:
		for _, entry := range Entries(v) {
			if n++; !add(entry.value) {
				break
			}
		}
	}
	return n
}
