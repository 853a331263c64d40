// SPDX-License-Identifier: Apache-2.0

package result

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Gatekeeper asks for violation[r], and makes a violation of each r that has a msg, with its details or {}, each once
// (frameworks/constraint, pkg/client/drivers/rego/rego.go). All else is undefined there, and nothing is said of it.

// Elements lists those of a rule's value. The error is a NotASet.
func (d *Decoder) Elements(rule string, value *ast.Term) ([]*ast.Term, error) {
	if rule != d.Gatekeeper {
		return List(value)
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
func (d *Decoder) ignores(rule string, element *ast.Term) bool {
	if rule != d.Gatekeeper {
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
	return withMessage(v, element), details, First(problems)
}
