// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
)

// hundred is an input with a list and an object of a hundred numbers.
func hundred() *ast.Term {
	list, object := ast.NewArray(), ast.NewObject()
	for i := range 100 {
		list = list.Append(ast.IntNumberTerm(i))
		object.Insert(ast.StringTerm(fmt.Sprint(i)), ast.IntNumberTerm(i))
	}
	return ast.ObjectTerm(ast.Item(ast.StringTerm("list"), ast.NewTerm(list)),
		ast.Item(ast.StringTerm("object"), ast.NewTerm(object)))
}

func TestABudgetStopsWhatTakesOrMakesTooMuch(t *testing.T) {
	const loops = `p if { some a in input.list; some b in input.list; some c in input.list; a + b + c == -1 }`
	for name, c := range map[string]struct {
		rules  string
		budget compiled.Budget
		want   error
	}{
		"loops within loops":           {loops, compiled.Budget{Steps: 10_000}, compiled.ErrSteps},
		"loops that the budget allows": {loops, compiled.Budget{Steps: 2_000_000}, nil},
		"calls": {`f(x) := x + 1` + "\n" + `p := [f(a) | some a in input.list]`,
			compiled.Budget{Steps: 150}, compiled.ErrSteps},
		"values that are compared": {"q := [x | some x in input.list]\n" +
			"p := [1 | some _ in input.list; q != input.list]", compiled.Budget{Steps: 250}, compiled.ErrSteps},
		"values that differ": {`q := [t | some x in input.list; t := sprintf("%1000d", [x])]` + "\n" +
			`r := [t | some x in input.list; t := sprintf("%1001d", [x])]` + "\n" +
			`p := [1 | some _ in input.list; not q == r]`, compiled.Budget{Steps: 10_000}, nil},
		"one of them is small": {`p := [1 | some _ in input.list; input.list != []]`, compiled.Budget{Steps: 150}, nil},
		"elements of a set": {`p := {[(a * 100) + b, input.list] | some a in input.list; some b in input.list}`,
			compiled.Budget{Steps: 15_000}, compiled.ErrSteps},
		"few elements of a set": {`p := {[a, input.list] | some a in input.list}`, compiled.Budget{Steps: 150}, nil},
		"keys": {`p := {[(a * 100) + b, input.list]: 1 | some a in input.list; some b in input.list}`,
			compiled.Budget{Steps: 15_000}, compiled.ErrSteps},
		"keys of sets": {`p := {{[a, input.list[0]] | some a in input.list}: 1 | some _ in input.list}`,
			compiled.Budget{Steps: 10_250}, compiled.ErrSteps},
		"arguments": {"f(a) := 1 if { some b in a; b == 99 }\nq := [x | some x in input.list]\n" +
			`p := [1 | some _ in input.list; f(input.list) == f(q)]`, compiled.Budget{Steps: 350}, compiled.ErrSteps},
		"long texts that are gathered": {`p := [t | t := sprintf("%65536d", [1]); some _ in input.list]`,
			compiled.Budget{Steps: 500}, compiled.ErrSteps},
		"long numbers": {"a := " + strings.Repeat("1", 250) + "\nn := a * a\nm := n + 1\n" +
			`p := [1 | some _ in input.list; n != m]`, compiled.Budget{Steps: 500}, compiled.ErrSteps},
		"an array that is gathered": {`p := [[a, b] | some a in input.list; some b in input.list]`,
			compiled.Budget{Values: 5_000}, compiled.ErrMemory},
		"a set of a rule": {`p contains [a, b] if { some a in input.list; some b in input.list }`,
			compiled.Budget{Values: 5_000}, compiled.ErrMemory},
		"an object that is gathered": {`p := {[a, b]: 1 | some a in input.list; some b in input.list}`,
			compiled.Budget{Values: 5_000}, compiled.ErrMemory},
		"what a variable's rules make": {`p[a][b] := 1 if { some a in input.list; some b in input.list }`,
			compiled.Budget{Values: 5_000}, compiled.ErrMemory},
		"what built-in functions give": {`p := [s | some a in input.list; s := sprintf("%10000d", [a])]`,
			compiled.Budget{Values: 5_000}, compiled.ErrMemory},
		"numbers that are given": {`p := count(numbers.range(1, 100000))`, compiled.Budget{Values: 5_000},
			compiled.ErrMemory},
		"copies that with makes": {`p if { ` + strings.Repeat("true with input.object.z as 1; ", 60) + `true }`,
			compiled.Budget{Values: 5_000}, compiled.ErrMemory},
		"values that the budget allows": {`p := count(numbers.range(1, 100))`, compiled.Budget{Values: 5_000}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := ask(t, "data.test.p = x", "package test\n\n"+c.rules)
			got := q.compiledAnswers(t.Context(), compiled.Options{Input: hundred(), Budget: c.budget})
			if !errors.Is(got.err, c.want) {
				t.Errorf("got %v, want %v", got.err, c.want)
			}
		})
	}
}

// afterSome is a Cancel that says yes from the n-th time on.
type afterSome struct{ asked, n int }

func (a *afterSome) Cancel() {}

func (a *afterSome) Cancelled() bool {
	a.asked++
	return a.asked >= a.n
}

func TestAnEvaluationIsCancelled(t *testing.T) {
	q := ask(t, "data.test.p = x", `package test

p if { some a in input.list; some b in input.list; some c in input.list; a + b + c == -1 }`)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := q.compiledAnswers(over, compiled.Options{Input: hundred()}); !topdown.IsCancel(unplaced(got.err)) {
		t.Errorf("with a context that is over: %v", got.err)
	}
	stop := &afterSome{n: 10}
	if got := q.compiledAnswers(t.Context(), compiled.Options{Input: hundred(), Cancel: stop}); !topdown.IsCancel(
		unplaced(got.err)) {
		t.Errorf("by Cancel: %v", got.err)
	}
	if stop.asked != stop.n {
		t.Errorf("asked %d times, want %d: it goes on after it was told to stop", stop.asked, stop.n)
	}
	if got := q.compiledAnswers(t.Context(), compiled.Options{Input: hundred()}); got.err != nil {
		t.Errorf("an evaluation after one that was stopped: %v", got.err)
	}
}

// What one statement does may take as long as many steps: it is cancelled in between.
func TestAStatementIsCancelled(t *testing.T) {
	for name, rules := range map[string]string{
		"a walk":            `p if { walk([input.list | some _ in input.list], [_, v]); v == "no" }`,
		"a walk with paths": `p if { walk([input.list | some _ in input.list], [path, v]); v == path }`,
		"copies of with":    `p if { ` + strings.Repeat("true with input.object.z as 1; ", 300) + `true }`,
		"copies in copies":  `p if { q with input.object.z as 1 }` + "\n" + `q if { ` + strings.Repeat("true with input.object.y as 2; ", 300) + `true }`,
	} {
		t.Run(name, func(t *testing.T) {
			stop := &afterSome{n: 200}
			got := ask(t, "data.test.p = x", "package test\n\n"+rules).compiledAnswers(t.Context(),
				compiled.Options{Input: hundred(), Cancel: stop})
			if !topdown.IsCancel(unplaced(got.err)) || stop.asked != stop.n {
				t.Errorf("asked %d times, want %d: %v", stop.asked, stop.n, got.err)
			}
		})
	}
}

// TestBuiltInsAreNotCalledOnceCancelled has a rule of few steps, each of which could take long.
func TestBuiltInsAreNotCalledOnceCancelled(t *testing.T) {
	q := ask(t, "data.test.p = x", `package test

p if { regex.match("a*b", input.a); regex.match("a*c", input.a); regex.match("a*d", input.a) }`)
	stop := &afterSome{n: 2}
	input := ast.MustParseTerm(`{"a": "abcd"}`)
	got := q.compiledAnswers(t.Context(), compiled.Options{Input: input, Cancel: stop})
	if !topdown.IsCancel(unplaced(got.err)) || stop.asked != stop.n {
		t.Errorf("asked %d times, want %d: %v", stop.asked, stop.n, got.err)
	}
}

// unplaced is an error as topdown.IsCancel knows it, which compares the message too.
func unplaced(err error) error {
	var e *topdown.Error
	if errors.As(err, &e) && e.Code == topdown.CancelErr {
		return &topdown.Error{Code: e.Code}
	}
	return err
}

// TestRecursionIsStopped runs a plan that no planner makes: a function that calls itself.
func TestRecursionIsStopped(t *testing.T) {
	call := &ir.CallStmt{Func: "g0.data.p", Args: []ir.Operand{{Value: ir.Local(0)}, {Value: ir.Local(1)}}, Result: 3}
	program, err := compiled.Compile(&ir.Policy{Funcs: &ir.Funcs{Funcs: []*ir.Func{{
		Name: "g0.data.p", Path: []string{"g0", "p"}, Params: []ir.Local{0, 1}, Return: 2,
		Blocks: []*ir.Block{{Stmts: []ir.Stmt{call, &ir.ReturnLocalStmt{Source: 3}}}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	rule, ok := program.Rule("p")
	if !ok {
		t.Fatal("there is no rule p")
	}
	e := program.Begin(t.Context(), &compiled.Options{})
	defer e.End()
	if _, err := e.Rule(rule); !errors.Is(err, compiled.ErrDepth) {
		t.Errorf("got %v, want %v", err, compiled.ErrDepth)
	}
}

// unknown is a statement that the representation doesn't have.
type unknown struct{ ir.Location }

func TestAPlanThatMakesNoSenseIsAnError(t *testing.T) {
	of := func(stmt ir.Stmt) *ir.Policy {
		return &ir.Policy{Plans: &ir.Plans{
			Plans: []*ir.Plan{{Name: "eval", Blocks: []*ir.Block{{Stmts: []ir.Stmt{stmt}}}}}}}
	}
	for name, c := range map[string]struct {
		policy *ir.Policy
		want   string
	}{
		"an unknown statement":                  {of(&unknown{}), "unknown statement"},
		"an unknown function":                   {of(&ir.CallStmt{Func: "none"}), "calls none"},
		"a dynamic call without input and data": {of(&ir.CallDynamicStmt{}), "0 arguments instead of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := compiled.Compile(c.policy); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
