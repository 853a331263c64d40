// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
	"evenkeel.dev/evenkeel/pkg/rego/compiled/planner"
)

// programOf compiles a module, and plans it for a query.
func programOf(module, query string) (*compiled.Program, error) {
	compiler, err := ast.CompileModules(map[string]string{"example.rego": module})
	if err != nil {
		return nil, err
	}
	if why := planner.NeedsTopdown(compiler); why != "" {
		return nil, fmt.Errorf("only topdown evaluates this as topdown does: %s", why)
	}
	plan, err := planner.Plan(context.Background(), compiler, ast.MustParseBody(query), nil)
	if err != nil {
		return nil, err
	}
	return compiled.Compile(plan)
}

// A program is compiled once and asked of many inputs, by many goroutines at once if need be.
func Example() {
	program, err := programOf(`package images

deny contains msg if {
	some container in input.containers
	not startswith(container.image, "registry.example.com/")
	msg := sprintf("%s isn't from our registry", [container.image])
}`, "data.images.deny")
	if err != nil {
		log.Fatal(err)
	}
	deny, _ := program.Rule("images", "deny")
	for _, input := range []string{
		`{"containers": [{"image": "registry.example.com/web:1"}]}`,
		`{"containers": [{"image": "busybox"}, {"image": "registry.example.com/web:1"}]}`,
	} {
		evaluation := program.Begin(context.Background(), &compiled.Options{Input: ast.MustParseTerm(input)})
		found, err := evaluation.Rule(deny)
		evaluation.End()
		fmt.Println(found, err)
	}
	// Output:
	// set() <nil>
	// {"busybox isn't from our registry"} <nil>
}

// A query gives an object of its variables for each answer.
func ExampleEvaluation_Query() {
	program, err := programOf(`package ports

names[p.name] := p.port if some p in input.ports`, "data.ports.names[name] = port")
	if err != nil {
		log.Fatal(err)
	}
	evaluation := program.Begin(context.Background(), &compiled.Options{
		Input: ast.MustParseTerm(`{"ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]}`)})
	defer evaluation.End()
	answers, err := evaluation.Query(planner.QueryName)
	if err != nil {
		log.Fatal(err)
	}
	for _, answer := range answers {
		fmt.Println(answer)
	}
	// Output:
	// {"name": "http", "port": 80}
	// {"name": "https", "port": 443}
}

// A budget ends what would take too long, whatever the policy says and however large the input is.
func ExampleBudget() {
	program, err := programOf(`package pairs

twins contains [i, j] if input.list[i] == input.list[j]`, "data.pairs.twins")
	if err != nil {
		log.Fatal(err)
	}
	rule, _ := program.Rule("pairs", "twins")
	var list []*ast.Term
	for i := range 1000 {
		list = append(list, ast.IntNumberTerm(i))
	}
	evaluation := program.Begin(context.Background(), &compiled.Options{
		Input:  ast.ObjectTerm(ast.Item(ast.StringTerm("list"), ast.ArrayTerm(list...))),
		Budget: compiled.Budget{Steps: 10_000, Values: 10_000},
	})
	defer evaluation.End()
	_, err = evaluation.Rule(rule)
	fmt.Println(errors.Is(err, compiled.ErrSteps), err)
	// Output:
	// true the evaluation takes too many steps
}
