// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
)

// forbiddenCalls finds each mention of a forbidden built-in, called, or named by
// `with`, so that the error can say more than "undefined function".
func forbiddenCalls(module *ast.Module) []Problem {
	reasons := budget.Refusals()
	var problems []Problem
	ast.WalkTerms(module, func(term *ast.Term) bool {
		ref, ok := term.Value.(ast.Ref)
		if !ok {
			return false
		}
		if reason, found := reasons[ref.String()]; found {
			problems = append(problems, At(term.Location, "", fmt.Sprintf(
				"the built-in function %s is forbidden: %s", ref, reason)))
		}
		return false
	})
	return problems
}
