// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/types"
)

// QueryName is the name of the plan of the query.
const QueryName = "eval"

// target is the name by which OPA's planner is asked for: OPA hands what was planned to the
// plugin that claims it.
const target = "evenkeel-compiled"

// plugin is OPA's plugin. It keeps nothing: what was planned goes where the context says.
type plugin struct{}

// destination is the key of the context's value that the plan is given to.
type destination struct{}

func (plugin) IsTarget(name string) bool { return name == target }

func (plugin) PrepareForEval(
	ctx context.Context, policy *ir.Policy, _ ...rego.PrepareOption,
) (rego.TargetPluginEval, error) {
	to, ok := ctx.Value(destination{}).(*ir.Policy)
	if !ok {
		return nil, errors.New("the plan was asked for by others than this package")
	}
	*to = *policy
	return plugin{}, nil
}

func (plugin) Eval(context.Context, *rego.EvalContext, ast.Value) (ast.Value, error) {
	return nil, errors.New("a plan is made to be compiled, not to be evaluated here")
}

// register tells OPA of the planner, which has no other way to be reached.
//
//nolint:gochecknoglobals // OPA's registry is of the process, and refuses a name twice
var register = sync.OnceFunc(func() {
	rego.RegisterPlugin(target, plugin{})
})

// Plan plans a query of compiled modules, with all rules that it reaches. The decls are those
// of functions that OPA doesn't have and each evaluation brings along. The error says what
// the planner doesn't know; topdown evaluates the policy all the same.
func Plan(
	ctx context.Context, compiler *ast.Compiler, query ast.Body, decls map[string]*types.Function,
) (policy *ir.Policy, err error) {
	register()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("OPA's planner panicked: %v", cause)
		}
	}()
	options := []func(*rego.Rego){rego.Compiler(compiler), rego.ParsedQuery(query), rego.Target(target)}
	for name, decl := range decls {
		options = append(options, rego.FunctionDyn(&rego.Function{Name: name, Decl: decl},
			func(rego.BuiltinContext, []*ast.Term) (*ast.Term, error) { return nil, errors.New("planned only") }))
	}
	policy = &ir.Policy{}
	if _, err := rego.New(options...).PrepareForEval(context.WithValue(ctx, destination{}, policy)); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return policy, nil
}
