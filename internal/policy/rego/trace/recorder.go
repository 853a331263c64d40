// SPDX-License-Identifier: Apache-2.0

// Package trace records how topdown, the engine of OPA, evaluates rules: it says why a rule finds
// something, or nothing.
package trace

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// mostEvents and mostBytes bound what is recorded of the evaluation of one policy on one object.
	mostEvents, mostBytes = 20_000, 4 << 20
	// mostText bounds an expression, a value or a note, in bytes, and mostDepth the bars before it.
	mostText, mostDepth = 200, 40
)

// Recorder records one evaluation, as text from the beginning: what rules, objects and notes hold may be large, and is
// anybody's. The zero value is ready; it isn't safe for concurrent use.
type Recorder struct {
	// Hidden has values and notes left out: of a Secret, say.
	Hidden bool

	lines []line
	// depths are those of the queries of the query that was begun last: each numbers them for itself.
	depths              map[uint64]int
	events, bytes, left int
}

// line is one event.
type line struct{ place, text string }

var _ topdown.QueryTracer = (*Recorder)(nil)

// Enabled is topdown.QueryTracer.
func (r *Recorder) Enabled() bool { return r != nil }

// Config is topdown.QueryTracer: events come with the variables, by the names that the rules give them.
func (r *Recorder) Config() topdown.TraceConfig { return topdown.TraceConfig{PlugLocalVars: true} }

// Begin begins what a query for a rule does.
func (r *Recorder) Begin(rule string) {
	r.depths = map[uint64]int{}
	r.lines = append(r.lines, line{text: "rule " + rule})
}

// TraceEvent is topdown.QueryTracer. Single steps of unification say nothing that the expression around them doesn't.
func (r *Recorder) TraceEvent(event topdown.Event) {
	if event.Op == topdown.UnifyOp {
		return
	}
	if r.events >= mostEvents || r.bytes >= mostBytes {
		r.left++
		return
	}
	r.events++
	l := line{place: placeOf(&event), text: strings.Repeat("| ", min(r.depth(&event), mostDepth)) + r.text(&event)}
	r.bytes += len(l.place) + len(l.text)
	r.lines = append(r.lines, l)
}

// depth is how deep queries are nested at an event.
func (r *Recorder) depth(event *topdown.Event) int {
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

func (r *Recorder) text(event *topdown.Event) string {
	what := expression(event)
	if event.Op == topdown.NoteOp {
		what = fmt.Sprintf("%q", prose.Shorten(event.Message, mostText))
		if r.Hidden {
			what = "(not shown)"
		}
	} else if event.Message != "" {
		what += " " + event.Message
	}
	text := string(event.Op) + " " + what
	if values := variables(event); !r.Hidden && values != "" {
		text += "   {" + values + "}"
	}
	return prose.OneLine(text)
}

// placeOf is where the rule of an event is written.
func placeOf(event *topdown.Event) string {
	if event.Location == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", prose.Shown(event.Location.File), event.Location.Row)
}

// String is what was recorded, query by query in the order in which they were asked: where an event is, what is
// entered, evaluated, fails, is left and is tried again, and the values of the variables.
func (r *Recorder) String() string {
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
