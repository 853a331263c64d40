// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

const tracedModule = `package test

noted contains "x" if trace(upper(sprintf("%v", [input.user])))

large contains "x" if {
	some n in numbers.range(1, 2000)
	all := input
	is_array(all)
}

deny contains "root" if {
	user := input.user
	user == 0
}

many contains x if {
	some x in numbers.range(1, 20000)
	x > 0
}
`

func recordTrace(t *testing.T, r *tracer, rule, input string) string {
	t.Helper()
	compiler, err := ast.CompileModules(map[string]string{"users.rego": tracedModule})
	if err != nil {
		t.Fatal(err)
	}
	r.begin(rule)
	_, err = topdown.NewQuery(ast.MustParseBody("data.test." + rule)).WithCompiler(compiler).
		WithInput(ast.MustParseTerm(input)).WithQueryTracer(r).WithIndexing(false).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.String()
}

func TestATraceSaysWhereARuleFails(t *testing.T) {
	got := recordTrace(t, &tracer{}, "deny", `{"user": 1000}`)
	for _, want := range []string{"rule deny\n", "users.rego:13", "Fail", "user = 0", "{user: 1000}"} {
		if !strings.Contains(got, want) {
			t.Errorf("the trace lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Unify") {
		t.Errorf("the trace has steps of unification:\n%s", got)
	}
}

func TestHiddenValuesAreInNoTrace(t *testing.T) {
	got := recordTrace(t, &tracer{hidden: true}, "deny", `{"user": 31337}`)
	if strings.Contains(got, "31337") {
		t.Errorf("the trace has the value of a variable:\n%s", got)
	}
	if !strings.Contains(got, "Fail") {
		t.Errorf("the trace doesn't say what fails:\n%s", got)
	}
}

func TestALongTraceEnds(t *testing.T) {
	got := recordTrace(t, &tracer{}, "many", `{}`)
	if n := strings.Count(got, "\n"); n > 20_002 {
		t.Errorf("the trace has %d lines", n)
	}
	if !strings.Contains(got, "more steps, not shown") {
		t.Error("the trace doesn't say that it has been cut")
	}
}

// What objects hold is anybody's: it begins no line, is cut, and of a Secret isn't told.
func TestNotesAreOneLineAndHidden(t *testing.T) {
	const hostile = `{"user": "a\n::error::b\u001b[31m"}`
	got := recordTrace(t, &tracer{}, "noted", hostile)
	if strings.Contains(got, "\n::") || strings.Contains(got, "\x1b") || !strings.Contains(got, `Note "A\n::ERROR::B`) {
		t.Errorf("the note isn't on one line:\n%q", got)
	}
	if got := recordTrace(t, &tracer{hidden: true}, "noted", hostile); strings.Contains(got, "ERROR") {
		t.Errorf("a hidden note is told:\n%s", got)
	}
	long := recordTrace(t, &tracer{}, "noted", `{"user": "`+strings.Repeat("x", 100_000)+`"}`)
	if len(long) > 10_000 {
		t.Errorf("a long note makes %d bytes", len(long))
	}
}

func TestALargeValueIsNotWritten(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat(`"element",`, 50_000), ",")
	got := recordTrace(t, &tracer{}, "large", "["+list+"]")
	if !strings.Contains(got, "all: an array of 50000 elements") {
		t.Errorf("the trace doesn't say what the value is:\n%.2000s", got)
	}
	if len(got) > 8<<20 {
		t.Errorf("the trace has %d bytes", len(got))
	}
}
