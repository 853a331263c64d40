// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/prose"
)

// maxProblems bounds what is said of one object, and maxMessage what of one field.
const (
	maxProblems = 20
	maxMessage  = 512
)

// Problem is what is wrong with a field.
type Problem struct {
	// Field is the path of the field.
	Field string
	// Message says what it is, and what it is to be.
	Message string
}

// String is the problem as messages have it.
func (p Problem) String() string { return p.Field + ": " + p.Message }

// ParametersError says why a policy's parameters don't fit its template's schema.
// Problems is never empty.
type ParametersError struct {
	Template string
	Problems []Problem
}

func (e *ParametersError) Error() string {
	return lines(fmt.Sprintf("the parameters don't fit the schema of RegoTemplate %s", e.Template), e.Problems)
}

// SchemaError says why a template's schema can't be taken. Problems is never empty.
type SchemaError struct{ Problems []Problem }

func (e *SchemaError) Error() string {
	return lines("the schema of the parameters can't be taken", e.Problems)
}

func lines(what string, problems []Problem) string {
	text := make([]string, 0, len(problems))
	for _, p := range problems {
		text = append(text, p.String())
	}
	return what + ": " + strings.Join(text, "\n")
}

// told are what the library finds, as many as can be read, by paths of ours.
func told(found field.ErrorList, path func(string) string) []Problem {
	var problems []Problem
	for i, e := range found {
		if i == maxProblems {
			problems = append(problems,
				Problem{Field: problems[0].Field, Message: "and " + prose.Count(len(found)-i, "problem") + " more"})
			break
		}
		problems = append(problems,
			Problem{Field: path(e.Field), Message: prose.Shorten(prose.OneLine(e.ErrorBody()), maxMessage)})
	}
	return problems
}
