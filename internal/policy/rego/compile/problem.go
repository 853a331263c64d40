// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/prose"
)

// Problem is one reason why a policy doesn't compile, and where.
type Problem struct {
	// File is the module's name; empty when the problem is in no one module.
	File string
	// Row and Col count from 1; 0 when unknown.
	Row, Col int
	// Message says what is wrong and what to do.
	Message string
	// Help is one line on what to do about a message that is OPA's own; empty where
	// that says all.
	Help string
}

// String is the problem as compilers print it: file:row:col: message, with the help
// on a line below.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text()
	case p.Row == 0:
		return prose.OneLine(p.File) + ": " + p.Text()
	default:
		return fmt.Sprintf("%s:%d:%d: %s", prose.OneLine(p.File), p.Row, p.Col, p.Text())
	}
}

// Text is the problem without its place.
func (p Problem) Text() string {
	if p.Help == "" {
		return p.Message
	}
	return p.Message + "\n  help: " + p.Help
}

// Error says why a policy doesn't compile. Problems is never empty.
type Error struct {
	Problems []Problem
}

// mostProblems is how many problems are shown: whoever writes a policy mustn't fill the status of it, or a log.
const mostProblems = 20

// ErrorOf has the first of some problems, and how many more there are.
func ErrorOf(problems []Problem) *Error {
	more := len(problems) - mostProblems
	if more <= 0 {
		return &Error{Problems: problems}
	}
	problems = slices.Clone(problems[:mostProblems])
	return &Error{Problems: append(problems, Problem{File: problems[mostProblems-1].File,
		Message: fmt.Sprintf("%s not shown: solve those before %s first", prose.Are(more, "other problem"),
			prose.Verb(more, "it", "them"))})}
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// MostOfName is how much of a name that a policy has chosen messages have, in bytes.
const MostOfName = 256

// mostOfMessage is how much there is of a message of OPA's, in bytes: it may quote a name of any length.
const mostOfMessage = 4 << 10

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
		problem := At(e.Location, fallback, e.Code+": "+prose.Shorten(e.Message, mostOfMessage))
		problem.Help = helpOf(e.Code, e.Message)
		if slices.ContainsFunc(problems, func(p Problem) bool {
			return p.File == problem.File && p.Row == problem.Row && p.Message == problem.Message
		}) {
			continue
		}
		if slices.ContainsFunc(problems, func(p Problem) bool { return p.Help == problem.Help }) {
			problem.Help = "" // said once
		}
		problems = append(problems, problem)
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
