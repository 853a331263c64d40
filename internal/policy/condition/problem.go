// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
)

// Problem is one reason why a condition doesn't compile, and where.
type Problem struct {
	// Index is the condition's in spec.admission.matchConditions.
	Index int
	// Row and Col count from 1 within the expression; 0 when it isn't to blame.
	Row, Col int
	// Message says what is wrong.
	Message string
}

// Field is the field that is to blame.
func (p Problem) Field() string {
	if p.Row == 0 {
		return fmt.Sprintf("spec.admission.matchConditions[%d]", p.Index)
	}
	return fmt.Sprintf("spec.admission.matchConditions[%d].expression", p.Index)
}

// Place is the field, with the row and column in the expression.
func (p Problem) Place() string {
	if p.Row == 0 {
		return p.Field()
	}
	return fmt.Sprintf("%s:%d:%d", p.Field(), p.Row, p.Col)
}

// CompileError says why the conditions don't compile. Problems is never empty.
type CompileError struct{ Problems []Problem }

func (e *CompileError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Place() + ": " + p.Message
	}
	return strings.Join(lines, "\n")
}

func problemsOf(index int, issues *cel.Issues) []Problem {
	var out []Problem
	for _, e := range issues.Errors() {
		out = append(out, Problem{Index: index, Row: max(e.Location.Line(), 1), Col: max(e.Location.Column(), 0) + 1,
			Message: e.Message})
	}
	return out
}
