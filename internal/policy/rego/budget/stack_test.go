// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
)

// endless asks for itself by way of `with`, which OPA's compiler doesn't find; compile.Modules refuses it.
const endless = `package test
f(x) := x
g := f(1)
h := f(2)
p if h with data.test.f as data.test.g`

// often is how many times the stack of one goroutine would have to double before Go ends the
// process, and some more: each evaluation begins with the stack that the one before has left.
const often = 6

func TestAnEvaluationEndsBeforeItsStackOverflows(t *testing.T) {
	query := prepared(t, endless)
	for range often {
		watch := budget.NewWatch(budget.Options{Time: time.Minute, Parts: 1})
		watch.Begin()
		_, err := query().WithCancel(watch).Run(t.Context())
		watch.Stop()
		if !topdown.IsCancel(err) || !watch.Deep() {
			t.Fatalf("it ends with %v, deep %v, want it cancelled because it is deep", err, watch.Deep())
		}
	}
}

func TestAComparisonEndsBeforeItsStackOverflows(t *testing.T) {
	query := prepared(t, endless)
	for range often {
		guarded := query().WithQueryTracer(&budget.Guard{})
		cause := panicOf(func() { _, _ = guarded.Run(t.Context()) })
		if err, _ := cause.(error); !errors.Is(err, budget.ErrDeep) {
			t.Fatalf("it ends with %v, want %v", cause, budget.ErrDeep)
		}
	}
}

// TestLongTextsAreGatheredInBounds has an array comprehension hold one text of a megabyte thousands of times.
func TestLongTextsAreGatheredInBounds(t *testing.T) {
	for n, want := range map[int]error{1000: nil, 3000: budget.ErrGathered} {
		compiler, err := ast.CompileModules(map[string]string{"test.rego": fmt.Sprintf("package test\n"+
			"p := count([t | t := sprintf(\"%%1000000d\", [1]); some _ in numbers.range(1, %d)])", n)})
		if err != nil {
			t.Fatal(err)
		}
		guarded := topdown.NewQuery(ast.MustParseBody("data.test.p")).WithCompiler(compiler).
			WithQueryTracer(&budget.Guard{Heads: budget.HeadsOf(compiler.Modules)})
		cause := panicOf(func() { _, err = guarded.Run(t.Context()) })
		if got, _ := cause.(error); err != nil || !errors.Is(got, want) {
			t.Errorf("%d times: it ends with %v, %v, want %v", n, err, cause, want)
		}
	}
}

// TestLongNumbersArentParsed has digits of which a comparison takes the square.
func TestLongNumbersArentParsed(t *testing.T) {
	for n, want := range map[int]int{400: 1, 401: 0} {
		query := prepared(t, fmt.Sprintf("package test\np if { json.unmarshal(sprintf(`{\"a\": [1%%0%dd]}`, [1])) }", n-1))
		answers, err := query().WithStrictBuiltinErrors(false).Run(t.Context())
		if err != nil || len(answers) != want {
			t.Errorf("%d digits: %d answers, %v, want %d", n, len(answers), err, want)
		}
	}
}

func panicOf(f func()) (cause any) {
	defer func() { cause = recover() }()
	f()
	return nil
}

// prepared gives queries of data.test.p.
func prepared(t *testing.T, module string) func() *topdown.Query {
	compiler, err := ast.CompileModules(map[string]string{"test.rego": module})
	if err != nil {
		t.Fatal(err)
	}
	return func() *topdown.Query {
		return topdown.NewQuery(ast.MustParseBody("data.test.p")).WithCompiler(compiler)
	}
}
