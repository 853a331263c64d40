// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Value converts a JSON value, as unstructured content holds it, without what rules don't read. What isn't an object or
// a list where they expect one stays as it is, and so does the length of a list: rules may ask for either. So does what
// is only asked to be there. It errors when the value isn't JSON.
func (f *Fields) Value(value any) (ast.Value, error) {
	switch v := value.(type) {
	case map[string]any:
		if f == nil || !f.whole && (f.any != nil || len(f.named) > 0) {
			return f.object(v)
		}
	case []any:
		if element := f.OfElement(); element != nil && !element.Whole() {
			return element.array(v)
		}
	}
	converted, err := ast.InterfaceToValue(value)
	if err != nil {
		return nil, fmt.Errorf("it isn't a JSON value: %w", err)
	}
	return converted, nil
}

func (f *Fields) object(fields map[string]any) (ast.Value, error) {
	pairs := make([][2]*ast.Term, 0, len(fields))
	for name, value := range fields {
		below := f.Of(name)
		if below == nil {
			continue
		}
		converted, err := below.Value(value)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, [2]*ast.Term{ast.InternedTerm(name), ast.NewTerm(converted)})
	}
	return ast.NewObject(pairs...), nil
}

// array converts elements of each of which f is read.
func (f *Fields) array(elements []any) (ast.Value, error) {
	terms := make([]*ast.Term, len(elements))
	for i, element := range elements {
		converted, err := f.Value(element)
		if err != nil {
			return nil, err
		}
		terms[i] = ast.NewTerm(converted)
	}
	return ast.NewArray(terms...), nil
}
