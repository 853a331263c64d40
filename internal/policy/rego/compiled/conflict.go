// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ir"
)

// conflictOf is topdown's message when a function gives two values.
func conflictOf(f *ir.Func) string {
	_, path, _ := strings.Cut(f.Name, ".") // the name begins with a generation, as in g0.data.p
	if len(f.Params) > 2 {
		return "function " + path + " produced conflicting values for the same inputs"
	}
	return "rule " + path + " produced conflicting values"
}
