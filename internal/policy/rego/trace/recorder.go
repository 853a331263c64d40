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

// mostEvents bounds what is recorded of the evaluation of one policy on one object: some megabytes.
const mostEvents = 20_000

// Recorder records one evaluation. The zero value is ready; it isn't safe for concurrent use.
type Recorder struct {
	// Hidden has the values of variables left out: of a Secret, say.
	Hidden bool

	queries []query
	events  int
}

// query is one query of an evaluation; the events of each are numbered for themselves.
type query struct {
	rule   string
	events []*topdown.Event
}

var _ topdown.QueryTracer = (*Recorder)(nil)

// Enabled is topdown.QueryTracer.
func (r *Recorder) Enabled() bool { return r != nil }

// Config is topdown.QueryTracer: events come with the variables, by the names that the rules give them.
func (r *Recorder) Config() topdown.TraceConfig { return topdown.TraceConfig{PlugLocalVars: true} }

// Begin begins what a query for a rule does.
func (r *Recorder) Begin(rule string) { r.queries = append(r.queries, query{rule: rule}) }

// TraceEvent is topdown.QueryTracer. Single steps of unification say nothing that the expression around them doesn't.
func (r *Recorder) TraceEvent(event topdown.Event) {
	if event.Op == topdown.UnifyOp || len(r.queries) == 0 {
		return
	}
	if r.events++; r.events > mostEvents {
		return
	}
	last := &r.queries[len(r.queries)-1]
	last.events = append(last.events, &event)
}

// String is what was recorded, query by query in the order in which they were asked: where an event is, what is
// entered, evaluated, fails, is left and is tried again, and the values of the variables.
func (r *Recorder) String() string {
	var b strings.Builder
	for _, q := range r.queries {
		fmt.Fprintf(&b, "rule %s\n", q.rule)
		topdown.PrettyTraceWithOpts(&b, q.events, topdown.PrettyTraceOptions{Locations: true,
			ExprVariables: !r.Hidden})
	}
	if over := r.events - mostEvents; over > 0 {
		fmt.Fprintf(&b, "… the evaluation went on: %s more, not shown\n", prose.Count(over, "step"))
	}
	return b.String()
}
