// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
	"evenkeel.dev/evenkeel/test/compiledtest"
)

// generated are policies that are written, with inputs that they read.
type generated struct {
	write  func(*rapid.T) (module string, rules []string)
	inputs func(*rapid.T) []string
	// strict are the ways in which errors of built-in functions are taken.
	strict []bool
	// nothing are the answers of rules that find nothing.
	nothing []string
}

// findTheSame asks topdown for each rule of each policy: of the whole input, and of what facts say that the rule reads
// of it.
func (g generated) findTheSame(t *testing.T) {
	t.Helper()
	asked, answered, spared := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		module, rules := g.write(rt)
		compiler, err := ast.CompileModules(map[string]string{"test.rego": module})
		if err != nil {
			rt.Skip(err)
		}
		for _, rule := range rules {
			ref := ast.MustParseRef("data.test." + rule)
			reads := facts.ReadsOf(compiler, ref)
			for _, text := range g.inputs(rt) {
				whole := ast.MustParseTerm(text)
				part := partOf(rt, whole, reads)
				for _, strict := range g.strict {
					want := answer(t.Context(), compiler, ref, whole, strict)
					if got := answer(t.Context(), compiler, ref, part, strict); got != want {
						rt.Fatalf("strict %v, %s of\n%s\nfinds in %s:\n%s\nand in %s:\n%s", strict, rule, module, whole,
							want, part, got)
					}
					asked++
					if !slices.Contains(g.nothing, want) {
						answered++
					}
				}
				if !part.Equal(whole) {
					spared++
				}
			}
		}
	})
	t.Logf("asked %d times, %d answers; %d times a part of the input wasn't read", asked, answered, spared)
	if spared == 0 || answered == 0 {
		t.Error("that proves nothing")
	}
}

func TestGeneratedPoliciesFindTheSameInWhatTheyRead(t *testing.T) {
	generated{write: compiledtest.WritePolicy, inputs: func(*rapid.T) []string { return compiledtest.Inputs() },
		strict: []bool{false, true}, nothing: []string{nothing}}.findTheSame(t)
}

// TestGeneratedSetsHaveTheSameInWhatIsReadOfTheirElements writes policies of sets. Not strictly: where an error ends an
// evaluation depends on the order of a set's elements, to topdown too.
func TestGeneratedSetsHaveTheSameInWhatIsReadOfTheirElements(t *testing.T) {
	generated{write: compiledtest.WriteSets, inputs: func(rt *rapid.T) []string {
		return []string{compiledtest.SetInput(rt), compiledtest.SetInput(rt), compiledtest.SetInput(rt)}
	}, strict: []bool{false}, nothing: []string{nothing, "[set()]"}}.findTheSame(t)
}

// partOf is what is read of an input.
func partOf(rt *rapid.T, whole *ast.Term, reads facts.Reads) *ast.Term {
	value, err := ast.JSON(whole.Value)
	if err != nil {
		rt.Fatal(err)
	}
	part, err := ast.InterfaceToValue(pruned(reads, value))
	if err != nil {
		rt.Fatal(err)
	}
	return ast.NewTerm(part)
}

// pruned is a value that stands under some keys without the fields that aren't read. Lists keep their length.
func pruned(reads facts.Reads, value any, keys ...string) any {
	below := func(key string) []string { return append(slices.Clone(keys), key) }
	switch v := value.(type) {
	case map[string]any:
		part := map[string]any{}
		for key, field := range v {
			if reads.May(below(key)...) {
				part[key] = pruned(reads, field, below(key)...)
			}
		}
		return part
	case []any:
		element := below("any element")
		if !reads.May(element...) {
			return v
		}
		part := make([]any, 0, len(v))
		for _, of := range v {
			part = append(part, pruned(reads, of, element...))
		}
		return part
	default:
		return v
	}
}

// nothing is the answer of a rule that is undefined.
const nothing = "[]"

// answer is what a rule gives, as text; that it fails is an answer too, whatever the error says.
// So is a recursion by way of `with`, which OPA's compiler doesn't find: topdown alone would fill the stack.
func answer(ctx context.Context, compiler *ast.Compiler, rule ast.Ref, input *ast.Term, strict bool) (given string) {
	defer func() {
		if cause := recover(); cause == budget.ErrDeep { //nolint:errorlint // the value of a panic, never wrapped
			given = "an error"
		} else if cause != nil {
			panic(cause)
		}
	}()
	data, err := ast.JSON(ast.MustParseTerm(compiledtest.Data()).Value)
	if err != nil {
		return err.Error()
	}
	documents, _ := data.(map[string]any)
	store := inmem.NewFromObject(documents)
	txn := storage.NewTransactionOrDie(ctx, store)
	queries := compiler.QueryCompiler()
	body, err := queries.Compile(ast.NewBody(ast.Equality.Expr(ast.VarTerm("x"), ast.NewTerm(rule))))
	if err != nil {
		return err.Error()
	}
	results, err := topdown.NewQuery(body).WithCompiler(compiler).WithQueryCompiler(queries).WithStore(store).
		WithTransaction(txn).WithInput(input).WithTime(time.Unix(1_700_000_000, 0)).
		WithStrictBuiltinErrors(strict).WithQueryTracer(&budget.Guard{}).Run(ctx)
	if err != nil {
		return "an error"
	}
	found := []string{}
	for _, result := range results {
		found = append(found, result["x"].String())
	}
	return fmt.Sprint(found)
}
