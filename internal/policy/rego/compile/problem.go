// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Problem is one reason why a policy doesn't compile, and where.
type Problem struct {
	// File is the module's name; empty when the problem is in no one module.
	File string
	// Row and Col count from 1; 0 when unknown.
	Row, Col int
	// Message says what is wrong and what to do.
	Message string
}

// String is the problem as compilers print it: file:row:col: message.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Row == 0:
		return p.File + ": " + p.Message
	default:
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Row, p.Col, p.Message)
	}
}

// Error says why a policy doesn't compile. Problems is never empty.
type Error struct {
	Problems []Problem
}

// Error lists the problems, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// ProblemsOf turns OPA's errors into problems; fallback names the file where OPA
// gives no location.
func ProblemsOf(err error, fallback string) []Problem {
	var list ast.Errors
	if !errors.As(err, &list) {
		var one *ast.Error
		if !errors.As(err, &one) {
			return []Problem{{File: fallback, Message: err.Error()}}
		}
		list = ast.Errors{one}
	}
	problems := make([]Problem, 0, len(list))
	for _, e := range list {
		problems = append(problems, At(e.Location, fallback, e.Code+": "+e.Message))
	}
	return problems
}

// At is the problem of a place; fallback names the file where OPA gives none.
func At(loc *ast.Location, fallback, message string) Problem {
	if loc == nil {
		return Problem{File: fallback, Message: message}
	}
	file := loc.File
	if file == "" {
		file = fallback
	}
	return Problem{File: file, Row: loc.Row, Col: loc.Col, Message: message}
}
