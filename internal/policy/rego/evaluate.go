package rego

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// DefaultTimeLimit is how long one policy may take for one object.
const DefaultTimeLimit = time.Second

// ErrTimeLimit is in the chain of Decision.Err when a policy was stopped at its
// time limit.
var ErrTimeLimit = errors.New("stopped at its time limit")

// fixShare is the share of the time limit, as a divisor, that remediation gets at
// admission, where it is asked for the hint alone.
const fixShare = 10

// Evaluate judges one input. It never panics and never passes by accident:
// whatever goes wrong is in the decision's Err, beside what was found all the
// same. A limit that isn't positive means DefaultTimeLimit. Actions are asked for
// only when there are violations and nothing went wrong.
func (c *Compiled) Evaluate(ctx context.Context, in *Input, limit time.Duration) policy.Decision {
	return c.EvaluateInTurns(ctx, in, limit, nil)
}

// EvaluateInTurns is Evaluate; when it takes long, it waits for turns in a lane. The
// waiting counts towards the limit.
func (c *Compiled) EvaluateInTurns(ctx context.Context, in *Input, limit time.Duration, lane *Lane) policy.Decision {
	decision, _ := c.evaluate(ctx, in, limit, lane)
	return decision
}

// EvaluateCounted is Evaluate, and says how many expressions were evaluated: what
// the verdict cost, on any machine.
func (c *Compiled) EvaluateCounted(ctx context.Context, in *Input, limit time.Duration) (decision policy.Decision, expressions int64) {
	return c.evaluate(ctx, in, limit, nil)
}

func (c *Compiled) evaluate(ctx context.Context, in *Input, limit time.Duration, lane *Lane) (decision policy.Decision, expressions int64) {
	if limit <= 0 {
		limit = DefaultTimeLimit
	}
	decision = policy.Decision{Policy: c.Name(), Revision: c.revision}
	e, err := c.evaluation(in)
	if err != nil {
		decision.Err = c.wrap(err)
		return decision, 0
	}
	e.lane, e.client = lane, in.client
	e.verdict(ctx, limit, &decision)
	if len(decision.Violations) > 0 && decision.Err == nil {
		e.fix(ctx, in, limit, &decision)
	}
	return decision, e.expressions
}

func (c *Compiled) wrap(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); len(text) > maxMessage {
		err = errors.New(prose.Shorten(text, maxMessage)) // it may quote the object
	}
	return fmt.Errorf("policy %s: %w", c.Name(), err)
}

// evaluation is the state of judging one input by one policy.
type evaluation struct {
	policy *Compiled
	input  *ast.Term
	now    time.Time
	paths  pathBase
	cache  topdown.VirtualCache
	store  *noData
	// weights tells what values weigh that the rules make.
	weights *scale
	// watch is that of the rules that are being asked; expressions are those of the
	// rules that were.
	watch       *watch
	expressions int64
	// lane is where it waits for its turns, in the client's name.
	lane   *Lane
	client string
	// text is how much the violations say so far, in bytes.
	text int
}

func (c *Compiled) evaluation(in *Input) (e *evaluation, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the engine panicked: %v", cause)
		}
	}()
	weights, err := c.scaleOf(in)
	if err != nil {
		return nil, err
	}
	return &evaluation{
		weights: weights,
		policy:  c,
		input:   in.document(c.parameters),
		now:     in.now,
		paths:   c.pathBaseFor(in.kind),
		cache:   topdown.NewVirtualCache(),
		store:   &noData{},
	}, nil
}

// within gives rules a time limit of their own while they are asked.
func (e *evaluation) within(ctx context.Context, limit time.Duration, ask func(), rules ...string) {
	parts := 0
	for _, name := range rules {
		parts += len(e.policy.rules[name].parts)
	}
	e.watch = newWatch(limit, parts)
	e.watch.scale = e.weights
	if e.policy.weighs {
		e.watch.weighs = e.watch.weighing()
	}
	e.watch.lane, e.watch.ticket = e.lane, ticket{client: e.client, policy: e.policy.Name()}
	defer e.watch.stop()
	defer context.AfterFunc(ctx, e.watch.Cancel)()
	ask()
	e.expressions += e.watch.steps
}

// verdict asks deny, violation and warn. What one of them found stays, whatever
// becomes of the others.
func (e *evaluation) verdict(ctx context.Context, limit time.Duration, decision *policy.Decision) {
	var denied, warned error
	e.within(ctx, limit, func() {
		decision.Violations, denied = e.violations(ctx, ruleDeny, ruleViolation)
		decision.Warnings, warned = e.violations(ctx, ruleWarn)
	}, ruleDeny, ruleViolation, ruleWarn)
	decision.Err = e.policy.wrap(cmp.Or(denied, warned))
}

// fix asks remediation. That it fails says nothing of the verdict.
func (e *evaluation) fix(ctx context.Context, in *Input, limit time.Duration, decision *policy.Decision) {
	if !in.audit {
		limit /= fixShare
	}
	e.within(ctx, limit, func() {
		var err error
		decision.Actions, err = e.actions(ctx)
		decision.FixErr = e.policy.wrap(err)
	}, ruleRemediation)
}
