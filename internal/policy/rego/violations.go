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
)

// violations evaluates the rules and gives their elements together, sorted by
// path, message and details, each once.
func (e *evaluation) violations(ctx context.Context, rules ...string) ([]policy.Violation, error) {
	var keyed []sortable[policy.Violation]
	for _, name := range rules {
		elements, err := e.elements(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, element := range elements {
			violation, err := e.violation(element)
			if err != nil {
				return nil, fmt.Errorf("rule %s, element %s: %w", name, brief(element), err)
			}
			details, err := json.Marshal(violation.Details)
			if err != nil {
				return nil, fmt.Errorf("rule %s, element %s: details: %w", name, brief(element), err)
			}
			keyed = append(keyed, sortable[policy.Violation]{
				key:   []string{violation.Path, violation.Message, string(details)},
				value: violation,
			})
		}
	}
	return sorted(keyed), nil
}

func (e *evaluation) violation(element *ast.Term) (policy.Violation, error) {
	if message, ok := element.Value.(ast.String); ok {
		return policy.Violation{Message: string(message)}, nonEmpty(string(message))
	}
	value, err := goValue(element.Value)
	if err != nil {
		return policy.Violation{}, err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return policy.Violation{}, fmt.Errorf("it is %s: it must be a string or an object {msg, details, path}", article(ast.ValueName(element.Value)))
	}
	if unknown := unknownKeys(fields, "msg", "details", "path"); unknown != "" {
		return policy.Violation{}, fmt.Errorf("unknown key %s: an element has msg, details and path", unknown)
	}
	message, ok := fields["msg"].(string)
	if !ok {
		return policy.Violation{}, errors.New("msg must be a string")
	}
	violation := policy.Violation{Message: message, Details: fields["details"]}
	if path, given := fields["path"]; given {
		text, isString := path.(string)
		if !isString {
			return policy.Violation{}, errors.New("path must be a string, a JSON Pointer")
		}
		if violation.Path, err = e.paths.violation(text); err != nil {
			return policy.Violation{}, fmt.Errorf("path: %w", err)
		}
	}
	return violation, nonEmpty(message)
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

// briefLength is in bytes; an element may be an object of any size.
const briefLength = 200

// brief writes an element for an error message.
func brief(element *ast.Term) string {
	text := element.String()
	if len(text) <= briefLength {
		return text
	}
	return strings.ToValidUTF8(text[:briefLength], "") + "…"
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
