// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
	"evenkeel.dev/evenkeel/internal/prose"
)

// mostUnits is how large a value may be that is written in full, and cut then, in units of package size.
const mostUnits = 64

// expression is what an event is about, with variables by the names that the rules give them.
func expression(event *topdown.Event) string {
	if rule, isRule := event.Node.(*ast.Rule); isRule {
		return rule.Ref().ConstantPrefix().String()
	}
	if event.Ref != nil {
		return event.Ref.String()
	}
	return prose.Shorten(fmt.Sprint(named(event)), mostText)
}

// named is the node of an event with its variables renamed; the node itself isn't changed.
func named(event *topdown.Event) any {
	var node any
	switch n := event.Node.(type) {
	case *ast.Expr:
		node = n.Copy()
	case ast.Body:
		node = n.Copy()
	default:
		return event.Node
	}
	renamed, err := ast.TransformVars(node, func(v ast.Var) (ast.Value, error) {
		if known, ok := event.LocalMetadata[v]; ok {
			return known.Name, nil
		}
		return v, nil
	})
	if err != nil {
		return event.Node
	}
	return renamed
}

// variables are the values of the variables of the expression of an event, as far as they have one, sorted by name.
func variables(event *topdown.Event) string {
	e, ok := event.Node.(*ast.Expr)
	if !ok || event.Locals == nil {
		return ""
	}
	var values []string
	vars := ast.NewVarVisitor()
	vars.Walk(e)
	for v := range vars.Vars() {
		known, ok := event.LocalMetadata[v]
		value := event.Locals.Get(v)
		if !ok || value == nil || known.Name.IsGenerated() || known.Name.IsWildcard() {
			continue
		}
		values = append(values, string(known.Name)+": "+shown(value))
	}
	slices.Sort(values)
	return strings.Join(values, ", ")
}

// shown is a value for people: of a large one what it is.
func shown(v ast.Value) string {
	if size.NewScale(mostUnits).Exceeds(v) {
		switch v := v.(type) {
		case ast.String:
			return fmt.Sprintf("%q", prose.Shorten(string(v), mostText))
		case *ast.Array:
			return "an array of " + prose.Count(v.Len(), "element")
		case ast.Set:
			return "a set of " + prose.Count(v.Len(), "element")
		case ast.Object:
			return "an object of " + prose.Count(v.Len(), "key")
		}
	}
	return prose.Shorten(v.String(), mostText)
}
