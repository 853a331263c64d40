package rego

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy"
)

// DefaultTimeLimit is how long one policy may take for one object.
const DefaultTimeLimit = time.Second

// ErrTimeLimit is in the chain of Decision.Err when a policy was stopped at its
// time limit.
var ErrTimeLimit = errors.New("stopped at its time limit")

// Evaluate judges one input. It never panics and never passes by accident:
// whatever goes wrong is in the decision's Err. A limit that isn't positive means
// DefaultTimeLimit. Actions are asked for only when there are violations.
func (c *Compiled) Evaluate(ctx context.Context, in *Input, limit time.Duration) policy.Decision {
	if limit <= 0 {
		limit = DefaultTimeLimit
	}
	cancel := topdown.NewCancel()
	timer := time.AfterFunc(limit, cancel.Cancel)
	defer timer.Stop()
	defer context.AfterFunc(ctx, cancel.Cancel)()

	decision, err := c.judge(ctx, in, cancel)
	if err == nil {
		return decision
	}
	if topdown.IsCancel(err) {
		if err = ctx.Err(); err == nil {
			err = fmt.Errorf("%w of %s: make its rules cheaper", ErrTimeLimit, limit)
		}
	}
	return policy.Decision{Policy: c.Name(), Revision: c.revision, Err: fmt.Errorf("policy %s: %w", c.Name(), err)}
}

// evaluation is the state of judging one input by one policy.
type evaluation struct {
	policy *Compiled
	input  *ast.Term
	now    time.Time
	paths  pathBase
	cancel topdown.Cancel
	cache  topdown.VirtualCache
	store  *noData
}

func (c *Compiled) judge(ctx context.Context, in *Input, cancel topdown.Cancel) (decision policy.Decision, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			decision, err = policy.Decision{}, fmt.Errorf("the engine panicked: %v", cause)
		}
	}()
	e := &evaluation{
		policy: c,
		input:  in.document(c.parameters),
		now:    in.now,
		paths:  c.pathBaseFor(in.kind),
		cancel: cancel,
		cache:  topdown.NewVirtualCache(),
		store:  &noData{},
	}
	decision = policy.Decision{Policy: c.Name(), Revision: c.revision}
	if decision.Violations, err = e.violations(ctx, ruleDeny, ruleViolation); err != nil {
		return policy.Decision{}, err
	}
	if decision.Warnings, err = e.violations(ctx, ruleWarn); err != nil {
		return policy.Decision{}, err
	}
	if len(decision.Violations) == 0 {
		return decision, nil
	}
	if decision.Actions, err = e.actions(ctx); err != nil {
		return policy.Decision{}, err
	}
	return decision, nil
}

// elements evaluates a rule and lists what it holds; nothing when the policy
// lacks the rule or the rule is undefined.
func (e *evaluation) elements(ctx context.Context, name string) ([]*ast.Term, error) {
	prepared, ok := e.policy.rules[name]
	if !ok {
		return nil, nil
	}
	query := topdown.NewQuery(prepared.body).
		WithQueryCompiler(prepared.queries).
		WithCompiler(e.policy.compiler).
		WithStore(e.store).
		WithInput(e.input).
		WithTime(e.now).
		WithCancel(e.cancel).
		WithVirtualCache(e.cache).
		WithMetrics(metrics.NoOp()).
		WithStrictBuiltinErrors(true)
	var value *ast.Term
	err := query.Iter(ctx, func(result topdown.QueryResult) error {
		value = result[prepared.result]
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", name, err)
	}
	if value == nil {
		return nil, nil
	}
	switch collection := value.Value.(type) {
	case ast.Set:
		return collection.Slice(), nil
	case *ast.Array:
		elements := make([]*ast.Term, 0, collection.Len())
		collection.Foreach(func(element *ast.Term) { elements = append(elements, element) })
		return elements, nil
	default:
		return nil, fmt.Errorf("rule %s is %s: it must be a set, as in `%s contains …`", name, article(ast.ValueName(value.Value)), name)
	}
}
