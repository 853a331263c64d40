// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/prose"
)

// goValue converts to a JSON tree as unstructured objects hold it: integers as
// int64, other numbers as float64, a set as a sorted list.
func goValue(v ast.Value) (any, error) { return naming(stringKey).value(v) }

// naming says which key of a JSON object a key of Rego becomes.
type naming func(key *ast.Term) (string, error)

func stringKey(key *ast.Term) (string, error) {
	name, ok := key.Value.(ast.String)
	if !ok {
		return "", fmt.Errorf("key %s isn't a string", key)
	}
	return string(name), nil
}

// anyKey names a key that isn't a string by its JSON, as OPA does.
func anyKey(key *ast.Term) (string, error) {
	if name, ok := key.Value.(ast.String); ok {
		return string(name), nil
	}
	value, err := naming(anyKey).value(key.Value)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	return string(text), err
}

func (n naming) value(v ast.Value) (any, error) {
	switch v := v.(type) {
	case ast.Null:
		return nil, nil
	case ast.Boolean:
		return bool(v), nil
	case ast.String:
		return string(v), nil
	case ast.Number:
		return goNumber(v)
	case *ast.Array:
		elements := make([]*ast.Term, 0, v.Len())
		v.Foreach(func(element *ast.Term) { elements = append(elements, element) })
		return n.list(elements)
	case ast.Set:
		return n.list(v.Slice())
	case ast.Object:
		return n.object(v)
	default:
		return nil, fmt.Errorf("%s isn't a JSON value", article(ast.ValueName(v)))
	}
}

func goNumber(n ast.Number) (any, error) {
	if whole, ok := n.Int64(); ok {
		return whole, nil
	}
	value, err := json.Number(n).Float64()
	if err != nil {
		return nil, fmt.Errorf("number %s: %w", n, err)
	}
	return value, nil
}

func (n naming) list(elements []*ast.Term) (any, error) {
	list := make([]any, 0, len(elements))
	for _, element := range elements {
		value, err := n.value(element.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}

func (n naming) object(o ast.Object) (any, error) {
	tree := make(map[string]any, o.Len())
	err := o.Iter(func(key, value *ast.Term) error {
		name, err := n(key)
		if err != nil {
			return err
		}
		converted, err := n.value(value.Value)
		if err != nil {
			return err
		}
		tree[name] = converted
		return nil
	})
	return tree, err
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

func brief(element *ast.Term) string {
	if budget.Size(element.Value, maxDetails) > maxDetails {
		return article(ast.ValueName(element.Value)) + " that is too large to show"
	}
	return prose.Shorten(element.String(), briefLength)
}

// article puts the indefinite article before a noun.
func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
