// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
	"evenkeel.dev/evenkeel/pkg/rego/compiled/planner"
)

// TestWhatHeadsWithVariablesMakeIsEqualToWhatIsWritten compares what grew in its place with
// the same written down: OPA's values keep their hashes, which must be those of what a value
// holds in the end.
func TestWhatHeadsWithVariablesMakeIsEqualToWhatIsWritten(t *testing.T) {
	for name, rules := range map[string]string{
		"objects": `p[x][y] := 1 if { some x in ["a", "b"]; some y in ["c", "d"] }
same := {p, {"a": {"c": 1, "d": 1}, "b": {"c": 1, "d": 1}}}
parts := {p.a, p.b}`,
		"sets": `p[x] contains y if { some x in ["a", "b"]; some y in ["c", "d"] }
same := {p, {"a": {"c", "d"}, "b": {"c", "d"}}}
parts := {p.a, p.b}`,
		"empty objects": `p[x] := {} if some x in ["a", "b"]
q[x].more := 1 if some x in ["a", "b"]
same := {p, {"a": {}, "b": {}}}
parts := {q.a, q.b}`,
	} {
		t.Run(name, func(t *testing.T) {
			// The sets are left to topdown otherwise, which takes their parts for different
			// ones: the compiled engine is asked alone.
			compiler := ast.MustCompileModules(map[string]string{"test.rego": "package test\n\n" + rules})
			planned, err := planner.Plan(t.Context(), compiler,
				ast.MustParseBody("same = data.test.same; parts = data.test.parts"), nil)
			if err != nil {
				t.Fatal(err)
			}
			program, err := compiled.Compile(planned)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second evaluation sees what the first has left
				answer := question{program: program}.compiledAnswers(
					t.Context(), compiled.Options{}).set.Slice()[0].Value.(ast.Object)
				for _, of := range []string{"same", "parts"} {
					if set := answer.Get(ast.StringTerm(of)).Value.(ast.Set); set.Len() != 1 {
						t.Errorf("%s are different: %v", of, set)
					}
				}
			}
		})
	}
}

// TestAProgramIsUsedByManyAtOnce evaluates one program of different inputs at once.
func TestAProgramIsUsedByManyAtOnce(t *testing.T) {
	q := ask(t, "x = data.test.p", `package test

double(x) := [y | some i in [1, 2]; y := x * i]

names contains name if some name, _ in input.map

p := {"names": names, "twice": double(input.n), "with": with_other}

with_other := n if n := data.test.copy with input as {"n": input.n}

copy := input.n`)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 200 {
				in := ast.MustParseTerm(fmt.Sprintf(`{"n": %d, "map": {"k%d": 1}}`, i, i))
				want := ast.MustParseTerm(
					fmt.Sprintf(`{{"x": {"names": {"k%d"}, "twice": [%d, %d], "with": %d}}}`, i, i, 2*i, i))
				if got := q.compiledAnswers(t.Context(), compiled.Options{Input: in}); got.err != nil ||
					got.set.Compare(want.Value) != 0 {
					t.Errorf("got %v, want %v", got, want)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestARuleIsFoundByItsPath(t *testing.T) {
	q := ask(t, "x = data.test.deny", `package test

deny contains "no" if forbidden(input.a)

forbidden(x) if x > 1

other := 1`)
	rule, ok := q.program.Rule("test", "deny")
	if !ok {
		t.Fatal("data.test.deny isn't there")
	}
	for _, path := range [][]string{{"test", "other"}, {"test", "forbidden"}, {"test"}, {"testdeny"}, {}} {
		if _, ok := q.program.Rule(path...); ok {
			t.Errorf("%v is no rule that was planned, or has arguments", path)
		}
	}
	e := q.program.Begin(t.Context(), &compiled.Options{Input: ast.MustParseTerm(`{"a": 2}`)})
	defer e.End()
	if got, err := e.Rule(rule); err != nil || got.String() != `{"no"}` {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestAFunctionOfTheCaller calls one that OPA doesn't have.
func TestAFunctionOfTheCaller(t *testing.T) {
	decl := types.NewFunction(types.Args(types.A), types.N)
	own := &ast.Builtin{Name: "test.own", Decl: decl}
	capabilities := ast.CapabilitiesForThisVersion()
	capabilities.Builtins = append(capabilities.Builtins, own)
	compiler := ast.NewCompiler().WithCapabilities(capabilities)
	compiler.Compile(map[string]*ast.Module{"test.rego": ast.MustParseModule("package test\n\np := test.own(7)")})
	if compiler.Failed() {
		t.Fatal(compiler.Errors)
	}
	planned, err := planner.Plan(t.Context(), compiler, ast.MustParseBody("x = data.test.p"),
		map[string]*types.Function{own.Name: decl})
	if err != nil {
		t.Fatal(err)
	}
	program, err := compiled.Compile(planned)
	if err != nil {
		t.Fatal(err)
	}
	q := question{program: program}
	double := func(_ topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		return iter(ast.ArrayTerm(operands[0], operands[0]))
	}
	got := q.compiledAnswers(t.Context(),
		compiled.Options{Builtins: map[string]*topdown.Builtin{own.Name: {Decl: own, Func: double}}})
	if want := ast.MustParseTerm(`{{"x": [7, 7]}}`); got.err != nil || got.set.Compare(want.Value) != 0 {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := q.compiledAnswers(t.Context(), compiled.Options{}); got.err == nil {
		t.Error("a function that nobody brought along was called")
	}
}

// TestWhichProgramsReadFieldsOnly holds that a program which sees more of the input than its
// fields says so: it would be given none.
func TestWhichProgramsReadFieldsOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		rules string
		only  bool
	}{
		"constant fields":            {`p if input.a.b == input.c[_]`, true},
		"by way of a rule":           {"p if q\nq if not input.a", true},
		"by way of a function":       {"p if f(input.a)\nf(x) if x == input.b", true},
		"a rule that is named later": {"p if data.test.m[input.a]\nm.q := input.b\nm.r if input.b.c", true},
		"in a comprehension":         {`p if count({x | some x in input.a}) > 1`, true},
		"another data":               {"p if q with data.x as 1\nq if input.a", true},
		"all of it in a variable":    {`p if { x := input; x.a }`, false},
		"all of it as an argument":   {"p if f(input)\nf(x) if x.a", false},
		"all of it compared":         {`p if input == {"a": 1}`, false},
		"all of it in a call":        {`p if object.get(input, "a", 1) == 1`, false},
		"all of it in a value":       {`p if [input][0].a`, false},
		"every field":                {`p if input[_] == 1`, false},
		"a field by a variable":      {`p if { some x in ["a"]; input[x] }`, false},
		"whether it is there":        {`p if input`, false},
		"another input":              {"p if q with input as {}\nq if input.a", false},
		"a field of another value":   {"p if q with input.a as 1\nq if input.a", false},
	} {
		t.Run(name, func(t *testing.T) {
			q := ask(t, "data.test.p = x", "package test\n\n"+tc.rules)
			if got := q.program.ReadsFieldsOnly(); got != tc.only {
				t.Errorf("it says %v, want %v", got, tc.only)
			}
		})
	}
}
