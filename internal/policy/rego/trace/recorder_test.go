// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/trace"
)

const module = `package test

deny contains "root" if {
	user := input.user
	user == 0
}

many contains x if {
	some x in numbers.range(1, 20000)
	x > 0
}
`

func record(t *testing.T, r *trace.Recorder, rule, input string) string {
	t.Helper()
	compiler, err := ast.CompileModules(map[string]string{"users.rego": module})
	if err != nil {
		t.Fatal(err)
	}
	r.Begin(rule)
	_, err = topdown.NewQuery(ast.MustParseBody("data.test." + rule)).WithCompiler(compiler).
		WithInput(ast.MustParseTerm(input)).WithQueryTracer(r).WithIndexing(false).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.String()
}

func TestATraceSaysWhereARuleFails(t *testing.T) {
	got := record(t, &trace.Recorder{}, "deny", `{"user": 1000}`)
	for _, want := range []string{"rule deny\n", "users.rego:5", "Fail", "user = 0", "{user: 1000}"} {
		if !strings.Contains(got, want) {
			t.Errorf("the trace lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Unify") {
		t.Errorf("the trace has steps of unification:\n%s", got)
	}
}

func TestHiddenValuesAreInNoTrace(t *testing.T) {
	got := record(t, &trace.Recorder{Hidden: true}, "deny", `{"user": 31337}`)
	if strings.Contains(got, "31337") {
		t.Errorf("the trace has the value of a variable:\n%s", got)
	}
	if !strings.Contains(got, "Fail") {
		t.Errorf("the trace doesn't say what fails:\n%s", got)
	}
}

func TestALongTraceEnds(t *testing.T) {
	got := record(t, &trace.Recorder{}, "many", `{}`)
	if n := strings.Count(got, "\n"); n > 20_002 {
		t.Errorf("the trace has %d lines", n)
	}
	if !strings.Contains(got, "more, not shown") {
		t.Error("the trace doesn't say that it has been cut")
	}
}
