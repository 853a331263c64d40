// SPDX-License-Identifier: Apache-2.0

package result

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// MaxFound is the most elements that are read of one part of a rule.
const MaxFound = 10_000

// ErrTooMany is the error of a part that has more.
var ErrTooMany = errors.New("it holds too many elements: at most 10000 are read")

// List lists the elements of a rule's value. The error is a notASet.
func List(value *ast.Term) ([]*ast.Term, error) {
	switch collection := value.Value.(type) {
	case ast.Set:
		return collection.Slice(), nil
	case *ast.Array:
		elements := make([]*ast.Term, 0, collection.Len())
		collection.Foreach(func(element *ast.Term) { elements = append(elements, element) })
		return elements, nil
	default:
		return nil, NotASet(ast.ValueName(value.Value))
	}
}

// NotASet is the error of a rule whose value is another sort of thing.
type NotASet string

func (s NotASet) Error() string {
	return fmt.Sprintf("%s: it must be a set", Article(string(s)))
}

// First is the first of some errors, with the number of the others.
func First(problems []error) error {
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	default:
		return fmt.Errorf("%w (and %d more of its parts failed)", problems[0], len(problems)-1)
	}
}
