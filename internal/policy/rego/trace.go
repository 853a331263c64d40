// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// mostEvents and mostTraced bound what is recorded of the evaluation of one policy on one object.
	mostEvents, mostTraced = 20_000, 4 << 20
	// mostText bounds an expression, a value or a note, in bytes, and mostDepth the bars before it.
	mostText, mostDepth = 200, 40
)

// tracer records how topdown evaluates rules, as text from the beginning: what rules, objects and notes hold may be
// large, and is untrusted. The zero value is ready; it isn't safe for concurrent use.
type tracer struct {
	// hidden leaves out values and notes: of a Secret, say.
	hidden bool

	lines []traceLine
	// depths are those of the queries of the query that was begun last: each numbers them for itself.
	depths              map[uint64]int
	events, bytes, left int
}

// traceLine is one event.
type traceLine struct{ place, text string }

var _ topdown.QueryTracer = (*tracer)(nil)

// Enabled is topdown.QueryTracer.
func (r *tracer) Enabled() bool { return r != nil }

// Config is topdown.QueryTracer: events come with the variables, by the names that the rules give them.
func (r *tracer) Config() topdown.TraceConfig { return topdown.TraceConfig{PlugLocalVars: true} }

func (r *tracer) begin(rule string) {
	r.depths = map[uint64]int{}
	r.lines = append(r.lines, traceLine{text: "rule " + rule})
}

// TraceEvent is topdown.QueryTracer. Single steps of unification say nothing that the expression around them doesn't.
func (r *tracer) TraceEvent(event topdown.Event) {
	if event.Op == topdown.UnifyOp {
		return
	}
	if r.events >= mostEvents || r.bytes >= mostTraced {
		r.left++
		return
	}
	r.events++
	l := traceLine{place: placeOf(&event), text: strings.Repeat("| ", min(r.depth(&event), mostDepth)) + r.text(&event)}
	r.bytes += len(l.place) + len(l.text)
	r.lines = append(r.lines, l)
}

func (r *tracer) depth(event *topdown.Event) int {
	depth, known := r.depths[event.QueryID]
	if !known {
		if parent, nested := r.depths[event.ParentID]; nested {
			depth = parent + 1
		}
		r.depths[event.QueryID] = depth
	}
	if event.Op == topdown.EnterOp || event.Op == topdown.RedoOp && !event.HasExpr() {
		return depth
	}
	return depth + 1
}

func (r *tracer) text(event *topdown.Event) string {
	what := expression(event)
	if event.Op == topdown.NoteOp {
		what = fmt.Sprintf("%q", prose.Shorten(event.Message, mostText))
		if r.hidden {
			what = "(not shown)"
		}
	} else if event.Message != "" {
		what += " " + event.Message
	}
	text := string(event.Op) + " " + what
	if values := variablesOf(event); !r.hidden && values != "" {
		text += "   {" + values + "}"
	}
	return prose.OneLine(text)
}

func placeOf(event *topdown.Event) string {
	if event.Location == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", prose.Shown(event.Location.File), event.Location.Row)
}

// String is what was recorded, query by query in the order in which they were asked: where an event is, what is
// entered, evaluated, fails, is left and is tried again, and the values of the variables.
func (r *tracer) String() string {
	width := 0
	for _, l := range r.lines {
		width = max(width, len(l.place))
	}
	width = min(width, mostText)
	var b strings.Builder
	for _, l := range r.lines {
		if l.place == "" {
			b.WriteString(l.text + "\n")
			continue
		}
		fmt.Fprintf(&b, "%-*s   %s\n", width, l.place, l.text)
	}
	if r.left > 0 {
		fmt.Fprintf(&b, "… the evaluation went on: %s, not shown\n", prose.Count(r.left, "more step"))
	}
	return b.String()
}

// maxShown is the size of a value, in bytes of JSON, up to which its text is written and then cut.
const maxShown = 4096

// expression is what an event is about, with variables by the names that the rules give them.
func expression(event *topdown.Event) string {
	if rule, isRule := event.Node.(*ast.Rule); isRule {
		return rule.Ref().ConstantPrefix().String()
	}
	if event.Ref != nil {
		return event.Ref.String()
	}
	return prose.Shorten(fmt.Sprint(withNames(event)), mostText)
}

// withNames is the node of an event with its variables renamed; the node itself isn't changed.
func withNames(event *topdown.Event) any {
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

// variablesOf are the values of the variables of the expression of an event, as far as they have one, sorted by name.
func variablesOf(event *topdown.Event) string {
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
		values = append(values, string(known.Name)+": "+shownValue(value))
	}
	slices.Sort(values)
	return strings.Join(values, ", ")
}

// shownValue is a value for people: of a large one what it is.
func shownValue(v ast.Value) string {
	if budget.Size(v, maxShown) > maxShown {
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
