// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
	"evenkeel.dev/evenkeel/pkg/rego/compiled/planner"
)

// now is the time that policies see.
func now() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }

// question is a query on modules that both engines can answer.
type question struct {
	compiler *ast.Compiler
	query    ast.Body
	program  *compiled.Program
}

// ask prepares a query for both engines.
func ask(t testing.TB, query string, modules ...string) question {
	t.Helper()
	q, err := prepare(query, modules...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func prepare(query string, modules ...string) (question, error) {
	byName := map[string]string{}
	for i, m := range modules {
		byName[fmt.Sprintf("m%d.rego", i)] = m
	}
	compiler, err := ast.CompileModules(byName)
	if err != nil {
		return question{}, err
	}
	if why := planner.NeedsTopdown(compiler); why != "" {
		return question{}, errors.New(why)
	}
	q := question{compiler: compiler, query: ast.MustParseBody(query)}
	planned, err := planner.Plan(context.Background(), compiler, q.query, nil)
	if err != nil {
		return question{}, err
	}
	q.program, err = compiled.Compile(planned)
	return q, err
}

// answers are what a query gives: a set of objects of its variables.
type answers struct {
	set ast.Set
	err error
}

func (a answers) String() string { return fmt.Sprintf("%v, error %v", a.set, a.err) }

// compiledAnswers asks the compiled engine: of the input, and where that is enough for the
// program, of its fields, too.
func (q question) compiledAnswers(ctx context.Context, o compiled.Options) answers {
	o.Context.Time = ast.IntNumberTerm(int(now().UnixNano()))
	if o.Data == nil {
		o.Data = ast.ObjectTerm()
	}
	given := q.asked(ctx, o)
	if fields := fieldsOf(o.Input); fields != nil && o.Cancel == nil && q.program.ReadsFieldsOnly() {
		o.Input, o.Fields = nil, fields
		if by := q.asked(ctx, o); by.String() != given.String() {
			panic(fmt.Sprintf("of the input %v\nof its fields %v", given, by))
		}
	}
	return given
}

// fieldsOf are those of an input that is an object; nil for another.
func fieldsOf(input *ast.Term) (fields [][2]*ast.Term) {
	if input == nil {
		return nil
	}
	if object, ok := input.Value.(ast.Object); ok {
		fields = [][2]*ast.Term{}
		object.Foreach(func(k, v *ast.Term) { fields = append(fields, [2]*ast.Term{k, v}) })
	}
	return fields
}

func (q question) asked(ctx context.Context, o compiled.Options) answers {
	e := q.program.Begin(ctx, &o)
	defer e.End()
	found, err := e.Query(planner.QueryName)
	return answers{ast.NewSet(found...), err}
}

// topdownAnswers asks OPA's own.
func (q question) topdownAnswers(ctx context.Context, o compiled.Options) answers {
	store := inmem.New()
	if o.Data != nil {
		data, err := ast.JSON(o.Data.Value)
		if err != nil {
			panic(err)
		}
		store = inmem.NewFromObject(data.(map[string]any))
	}
	txn := storage.NewTransactionOrDie(ctx, store)
	queries := q.compiler.QueryCompiler()
	body, err := queries.Compile(q.query)
	if err != nil {
		return answers{err: err}
	}
	rs, err := topdown.NewQuery(body).WithCompiler(q.compiler).WithQueryCompiler(queries).WithStore(store).
		WithTransaction(txn).WithInput(o.Input).WithTime(now()).WithStrictBuiltinErrors(o.Strict).Run(ctx)
	set := ast.NewSet()
	for _, result := range rs {
		answer := ast.NewObject()
		for name, value := range result {
			answer.Insert(ast.StringTerm(string(name)), value)
		}
		set.Add(ast.NewTerm(answer))
	}
	return answers{set, err}
}

// differ says how the answers of two engines differ; empty when they don't. Where the
// compiled engine gives an error, topdown is asked, so that its errors needn't be the same:
// topdown's index may spare it an expression that fails.
func differ(compiled, topdown answers) string {
	if compiled.err != nil || topdown.err == nil && compiled.set.Compare(topdown.set) == 0 {
		return ""
	}
	return fmt.Sprintf("compiled %v\n topdown %v", compiled, topdown)
}
