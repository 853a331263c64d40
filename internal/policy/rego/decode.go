// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Bounds of what a decision says, in bytes.
const (
	// maxMessage, maxPath and maxDetails are those of a violation's parts; maxText that of
	// all violations together.
	maxMessage = 4 << 10
	maxPath    = 4 << 10
	maxDetails = 64 << 10
	maxText    = 8 << 20
)

// decoder reads what the rules of one evaluation give, in the terms of internal/policy.
type decoder struct {
	paths paths
	// gatekeeper is the rule whose value is read as Gatekeeper reads that of violation; empty for none.
	gatekeeper string
	// text is how much the violations say so far, in bytes.
	text int
}

// violations gathers those of some rules.
type violations struct {
	keyed []sortable[policy.Violation]
}

// sorted are all of them, by path, message and details, each once.
func (v *violations) sorted() []policy.Violation { return sorted(v.keyed) }

// add reads the elements of a rule. What could be read is added beside the errors.
func (v *violations) add(d *decoder, rule string, elements []*ast.Term) (problems []error) {
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
func (d *decoder) violation(rule string, element *ast.Term) (v policy.Violation, details string, err error) {
	if rule == d.gatekeeper {
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
				article(ast.ValueName(element.Value)))
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
	return withMessage(v, element), details, firstOf(problems)
}

func withMessage(v policy.Violation, element *ast.Term) policy.Violation {
	if v.Message == "" {
		v.Message = "the rule gave no message but " + brief(element)
	}
	v.Message = prose.Shorten(v.Message, maxMessage)
	return v
}

func messageOf(fields ast.Object) (string, error) {
	message, ok := textOf(fields, "msg")
	if !ok {
		return "", errors.New("msg must be a string")
	}
	return message, nonEmpty(message)
}

func (d *decoder) pathOf(fields ast.Object) (string, error) {
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
	path, err := d.paths.violation(text)
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

// Gatekeeper asks for violation[r], and makes a violation of each r that has a msg, with its details or {}, each once
// (frameworks/constraint, pkg/client/drivers/rego/rego.go). All else is undefined there, and nothing is said of it.

// elements lists those of a rule's value. The error is a notASet.
func (d *decoder) elements(rule string, value *ast.Term) ([]*ast.Term, error) {
	if rule != d.gatekeeper {
		return listed(value)
	}
	switch v := value.Value.(type) {
	case ast.Set:
		return v.Slice(), nil
	case ast.Object:
		return v.Keys(), nil
	default:
		return nil, nil
	}
}

// ignores reports whether Gatekeeper makes nothing of an element.
func (d *decoder) ignores(rule string, element *ast.Term) bool {
	if rule != d.gatekeeper {
		return false
	}
	fields, ok := element.Value.(ast.Object)
	return !ok || fields.Get(ast.InternedTerm("msg")) == nil
}

// asGatekeeper reads an element that Gatekeeper doesn't ignore. A msg that is no string is an error there too.
func asGatekeeper(element *ast.Term) (v policy.Violation, details string, err error) {
	fields, ok := element.Value.(ast.Object)
	if !ok {
		return withMessage(v, element), "", errors.New("it isn't an object")
	}
	var problems []error
	if v.Message, ok = textOf(fields, "msg"); !ok {
		problems = append(problems, errors.New("msg must be a string"))
	}
	if v.Details, details, err = detailsOf(fields, anyKey); err != nil {
		problems = append(problems, err)
	}
	if details == "{}" {
		v.Details, details = nil, ""
	}
	return withMessage(v, element), details, firstOf(problems)
}

// maxFound is the most elements that are read of one part of a rule.
const maxFound = 10_000

// errTooMany is the error of a part that has more.
var errTooMany = errors.New("it holds too many elements: at most 10000 are read")

// listed lists the elements of a rule's value. The error is a notASet.
func listed(value *ast.Term) ([]*ast.Term, error) {
	switch collection := value.Value.(type) {
	case ast.Set:
		return collection.Slice(), nil
	case *ast.Array:
		elements := make([]*ast.Term, 0, collection.Len())
		collection.Foreach(func(element *ast.Term) { elements = append(elements, element) })
		return elements, nil
	default:
		return nil, notASet(ast.ValueName(value.Value))
	}
}

// notASet is the error of a rule whose value is another sort of thing.
type notASet string

func (s notASet) Error() string {
	return fmt.Sprintf("%s: it must be a set", article(string(s)))
}

// firstOf is the first of some errors, with the number of the others.
func firstOf(problems []error) error {
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	default:
		return fmt.Errorf("%w (and %d more of its parts failed)", problems[0], len(problems)-1)
	}
}

// sortable pairs a result with the strings that order it and identify it.
type sortable[T any] struct {
	key   []string
	value T
}

// sorted orders by key and drops repetitions; nil when empty.
func sorted[T any](keyed []sortable[T]) []T {
	slices.SortFunc(keyed, func(a, b sortable[T]) int { return slices.Compare(a.key, b.key) })
	var out []T
	for i, element := range keyed {
		if i == 0 || slices.Compare(keyed[i-1].key, element.key) != 0 {
			out = append(out, element.value)
		}
	}
	return out
}
