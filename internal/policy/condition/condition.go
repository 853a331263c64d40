// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Set are the conditions of one policy, ready to be asked. It is immutable and safe for
// concurrent use; nil has no condition.
type Set struct {
	conditions []prepared
}

type prepared struct {
	name    string
	program cel.Program
}

// Compile prepares a policy's conditions. The error is a *CompileError.
func Compile(conditions []v1alpha1.MatchCondition) (*Set, error) {
	if len(conditions) == 0 {
		return nil, nil //nolint:nilnil // a nil Set has no condition
	}
	env, err := newEnvironment()
	if err != nil {
		return nil, &CompileError{Problems: []Problem{{Message: err.Error()}}}
	}
	set, seen := &Set{}, map[string]bool{}
	var problems []Problem
	for i, c := range conditions {
		if seen[c.Name] || c.Name == "" {
			problems = append(problems,
				Problem{Index: i, Message: fmt.Sprintf(
					"the name %q is missing or another condition's: give each a name of its own", c.Name)})
		}
		seen[c.Name] = true
		program, found := compile(env, i, c.Expression)
		problems = append(problems, found...)
		set.conditions = append(set.conditions, prepared{name: c.Name, program: program})
	}
	if len(problems) > 0 {
		return nil, &CompileError{Problems: problems}
	}
	return set, nil
}

func compile(env *cel.Env, index int, expression string) (cel.Program, []Problem) {
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, problemsOf(index, issues)
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, []Problem{
			{Index: index, Row: 1, Col: 1,
				Message: fmt.Sprintf("it must be true or false, but is of type %s", ast.OutputType())}}
	}
	program, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, []Problem{{Index: index, Message: err.Error()}}
	}
	return program, nil
}

// Match says that the policy judges the request. Conditions are for requests: an audit is
// always judged, and so are the object as it was before an update and what wasn't read.
// As in Kubernetes, one that is false outweighs any that can't be evaluated.
func (s *Set) Match(ctx context.Context, r *policy.Request) (bool, error) {
	if s == nil || r.Audit || r.Before || r.Partial {
		return true, nil
	}
	return s.ask(ctx, variables(r))
}

func (s *Set) ask(ctx context.Context, given map[string]any) (bool, error) {
	budget := uint64(celconfig.RuntimeCELCostBudgetMatchConditions)
	var failed []error
	for _, c := range s.conditions {
		value, details, err := c.program.ContextEval(ctx, given)
		cost := details.ActualCost()
		switch {
		case cost != nil && *cost > budget:
			return false, fmt.Errorf("spec.admission.matchConditions: evaluating them costs too much (stopped at %s): "+
				"simplify the expressions", c.name)
		case cost != nil:
			budget -= *cost
		}
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("spec.admission.matchConditions: %s: %w", c.name, err))
		case value == types.False:
			return false, nil
		}
	}
	return len(failed) == 0, errors.Join(failed...)
}
