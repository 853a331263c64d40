// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Bounds of what a decision says, in bytes.
const (
	// MaxMessage, maxPath and maxDetails are those of a violation's parts; maxText that of
	// all violations together.
	MaxMessage = 4 << 10
	maxPath    = 4 << 10
	maxDetails = 64 << 10
	maxText    = 8 << 20
)

// Decoder reads what the rules of one evaluation give, in the terms of internal/policy.
type Decoder struct {
	Paths Paths
	// Gatekeeper is the rule whose value is read as Gatekeeper reads that of violation; empty for none.
	Gatekeeper string
	// text is how much the violations say so far, in bytes.
	text int
}

// Violations gathers those of some rules.
type Violations struct {
	keyed []sortable[policy.Violation]
}

// Sorted are all of them, by path, message and details, each once.
func (v *Violations) Sorted() []policy.Violation { return sorted(v.keyed) }

// Add reads the elements of a rule. What could be read is added beside the errors.
func (v *Violations) Add(d *Decoder, rule string, elements []*ast.Term) (problems []error) {
	for i, element := range elements {
		if d.text > maxText {
			return append(problems, fmt.Errorf("rule %s says more than %d bytes: %s left out", rule,
				maxText, prose.Are(len(elements)-i, "violation")))
		}
		if d.ignores(rule, element) {
			continue
		}
		violation, details, err := d.violation(rule, element)
		if err != nil {
			problems = append(problems, fmt.Errorf("rule %s, element %s: %w", rule, brief(element), err))
		}
		d.text += len(violation.Message) + len(violation.Path) + len(details)
		v.keyed = append(v.keyed, sortable[policy.Violation]{
			key:   []string{violation.Path, violation.Message, details},
			value: violation,
		})
	}
	return problems
}

// violation reads an element, and writes its details as JSON. An element is a
// violation even if it is malformed: what of it can be read is kept beside the
// error.
func (d *Decoder) violation(rule string, element *ast.Term) (v policy.Violation, details string, err error) {
	if rule == d.Gatekeeper {
		return asGatekeeper(element)
	}
	if message, ok := element.Value.(ast.String); ok {
		v.Message = string(message)
		return withMessage(v, element), "", nonEmpty(v.Message)
	}
	fields, ok := element.Value.(ast.Object)
	if !ok {
		return withMessage(v, element), "",
			fmt.Errorf("it is %s: it must be a string or an object {msg, details, path}",
				Article(ast.ValueName(element.Value)))
	}
	var problems []error
	if v.Message, err = messageOf(fields); err != nil {
		problems = append(problems, err)
	}
	if v.Path, err = d.pathOf(fields); err != nil {
		problems = append(problems, err)
	}
	if v.Details, details, err = detailsOf(fields, stringKey); err != nil {
		problems = append(problems, err)
	}
	if unknown := unknownTerms(fields, "msg", "details", "path"); unknown != "" {
		problems = append(problems, fmt.Errorf("unknown key %s: an element has msg, details and path", unknown))
	}
	return withMessage(v, element), details, First(problems)
}

func withMessage(v policy.Violation, element *ast.Term) policy.Violation {
	if v.Message == "" {
		v.Message = "the rule gave no message but " + brief(element)
	}
	v.Message = prose.Shorten(v.Message, MaxMessage)
	return v
}

func messageOf(fields ast.Object) (string, error) {
	message, ok := textOf(fields, "msg")
	if !ok {
		return "", errors.New("msg must be a string")
	}
	return message, nonEmpty(message)
}

func (d *Decoder) pathOf(fields ast.Object) (string, error) {
	if fields.Get(ast.InternedTerm("path")) == nil {
		return "", nil
	}
	text, ok := textOf(fields, "path")
	if !ok {
		return "", errors.New("path must be a string, a JSON Pointer")
	}
	if len(text) > maxPath {
		return "", fmt.Errorf("path: it has more than %d bytes", maxPath)
	}
	path, err := d.Paths.violation(text)
	if err != nil {
		return "", fmt.Errorf("path: %w", err)
	}
	return path, nil
}

func detailsOf(fields ast.Object, names naming) (details any, written string, err error) {
	term := fields.Get(ast.InternedTerm("details"))
	if term == nil {
		return nil, "", nil
	}
	if budget.Size(term.Value, maxDetails) > maxDetails {
		return nil, "", fmt.Errorf("details: they are left out: more than %d bytes", maxDetails)
	}
	if details, err = names.value(term.Value); err != nil {
		return nil, "", fmt.Errorf("details: %w", err)
	}
	text, err := json.Marshal(details)
	if err != nil {
		return nil, "", fmt.Errorf("details: %w", err)
	}
	return details, string(text), nil
}

func textOf(fields ast.Object, key string) (string, bool) {
	term := fields.Get(ast.InternedTerm(key))
	if term == nil {
		return "", false
	}
	text, ok := term.Value.(ast.String)
	return string(text), ok
}

func nonEmpty(message string) error {
	if message == "" {
		return errors.New("the message is empty: say what is wrong")
	}
	return nil
}
