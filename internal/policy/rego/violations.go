package rego

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// violations evaluates the rules and gives their elements together, sorted by
// path, message and details, each once. What was found is there beside an error.
func (e *evaluation) violations(ctx context.Context, rules ...string) ([]policy.Violation, error) {
	var keyed []sortable[policy.Violation]
	var problems []error
	for _, name := range rules {
		elements, err := e.elements(ctx, name)
		if err != nil {
			problems = append(problems, err)
		}
		for i, element := range elements {
			if e.text > maxText {
				problems = append(problems, fmt.Errorf("rule %s says more than %d bytes: %d violations are left out", name, maxText, len(elements)-i))
				break
			}
			violation, details, err := e.violation(element)
			if err != nil {
				problems = append(problems, fmt.Errorf("rule %s, element %s: %w", name, brief(element), err))
			}
			e.text += len(violation.Message) + len(violation.Path) + len(details)
			keyed = append(keyed, sortable[policy.Violation]{
				key:   []string{violation.Path, violation.Message, details},
				value: violation,
			})
		}
	}
	return sorted(keyed), firstOf(problems)
}

// violation reads an element, and writes its details as JSON. An element is a
// violation even if it is malformed: what of it can be read is kept beside the
// error.
func (e *evaluation) violation(element *ast.Term) (v policy.Violation, details string, err error) {
	if message, ok := element.Value.(ast.String); ok {
		v.Message = string(message)
		return withMessage(v, element), "", nonEmpty(v.Message)
	}
	fields := asObject(element)
	if fields == nil {
		return withMessage(v, element), "", fmt.Errorf("it is %s: it must be a string or an object {msg, details, path}", article(ast.ValueName(element.Value)))
	}
	var problems []error
	if v.Message, err = messageOf(fields); err != nil {
		problems = append(problems, err)
	}
	if v.Path, err = e.pathOf(fields); err != nil {
		problems = append(problems, err)
	}
	if v.Details, details, err = detailsOf(fields); err != nil {
		problems = append(problems, err)
	}
	if unknown := unknownTerms(fields, "msg", "details", "path"); unknown != "" {
		problems = append(problems, fmt.Errorf("unknown key %s: an element has msg, details and path", unknown))
	}
	return withMessage(v, element), details, firstOf(problems)
}

// withMessage has a violation say something.
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

func (e *evaluation) pathOf(fields ast.Object) (string, error) {
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
	path, err := e.paths.violation(text)
	if err != nil {
		return "", fmt.Errorf("path: %w", err)
	}
	return path, nil
}

func detailsOf(fields ast.Object) (details any, written string, err error) {
	term := fields.Get(ast.InternedTerm("details"))
	if term == nil {
		return nil, "", nil
	}
	if textSize(term.Value, maxDetails) > maxDetails {
		return nil, "", fmt.Errorf("details: they are left out: more than %d bytes", maxDetails)
	}
	if details, err = goValue(term.Value); err != nil {
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

// unknownKeys lists the keys that aren't allowed, quoted and sorted; empty when
// there are none.
func unknownKeys(fields map[string]any, allowed ...string) string {
	var unknown []string
	for key := range fields {
		if !slices.Contains(allowed, key) {
			unknown = append(unknown, fmt.Sprintf("%q", key))
		}
	}
	slices.SortFunc(unknown, cmp.Compare[string])
	return strings.Join(unknown, ", ")
}

// unknownTerms lists the keys of a Rego object that aren't allowed, as unknownKeys
// does.
func unknownTerms(fields ast.Object, allowed ...string) string {
	keys := make(map[string]any, fields.Len())
	fields.Foreach(func(key, _ *ast.Term) {
		if text, ok := key.Value.(ast.String); ok {
			keys[string(text)] = nil
		} else {
			keys[brief(key)] = nil
		}
	})
	return unknownKeys(keys, allowed...)
}

// briefLength is in bytes; an element may be an object of any size.
const briefLength = 200

// brief writes an element for an error message.
func brief(element *ast.Term) string {
	if textSize(element.Value, maxDetails) > maxDetails {
		return article(ast.ValueName(element.Value)) + " that is too large to show"
	}
	return prose.Shorten(element.String(), briefLength)
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
