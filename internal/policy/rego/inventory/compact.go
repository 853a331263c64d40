// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	corev1 "k8s.io/api/core/v1"
)

// shape says what is kept of an object: all but what is kept about it for others where no
// fields are named.
type shape [][]string

// shapeOf is what some fields make of an object, with its identity. What stands below a field
// that is kept whole isn't named again.
func shapeOf(fields []string) shape {
	if len(fields) == 0 {
		return nil
	}
	all := append([]string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}, fields...)
	var out shape
	for _, field := range all {
		below := func(whole string) bool { return whole == field || strings.HasPrefix(field, whole+".") }
		path := strings.Split(field, ".")
		known := slices.ContainsFunc(out, func(p []string) bool { return slices.Equal(p, path) })
		wider := slices.ContainsFunc(all, func(whole string) bool { return whole != field && below(whole) })
		if !known && !wider {
			out = append(out, path)
		}
	}
	return out
}

// of is what is kept of an object, as Rego sees it.
func (s shape) of(object map[string]any) (*ast.Term, error) {
	kept := map[string]any{}
	for _, path := range s {
		keep(object, kept, path)
	}
	if s == nil {
		kept = withoutRecords(object)
	}
	value, err := ast.InterfaceToValue(kept)
	if err != nil {
		return nil, fmt.Errorf("it isn't a JSON value: %w", err)
	}
	return ast.NewTerm(value), nil
}

// keep takes what an object has at a path over into another.
func keep(from, to map[string]any, path []string) {
	value, found := from[path[0]]
	if !found {
		return
	}
	inner, isMap := value.(map[string]any)
	if len(path) == 1 || !isMap {
		to[path[0]] = value
		return
	}
	next, isMap := to[path[0]].(map[string]any)
	if !isMap {
		next = map[string]any{}
		to[path[0]] = next
	}
	keep(inner, next, path[1:])
}

// withoutRecords is an object without managedFields, and without kubectl's copy of it.
func withoutRecords(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return object
	}
	out, kept := maps.Clone(object), maps.Clone(metadata)
	delete(kept, "managedFields")
	if annotations, ok := kept["annotations"].(map[string]any); ok {
		others := maps.Clone(annotations)
		delete(others, corev1.LastAppliedConfigAnnotation)
		kept["annotations"] = others
	}
	out["metadata"] = kept
	return out
}
