// SPDX-License-Identifier: Apache-2.0

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
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/prose"
)

// DefaultTimeLimit is how long one policy may take for one object.
const DefaultTimeLimit = time.Second

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
	if limit <= 0 {
		limit = DefaultTimeLimit
	}
	to := limits{time: limit, lane: lane}
	why := ""
	switch {
	case c.WhyTopdown() != nil:
		why = policy.ReasonNotCompilable
	case c.engine == CompiledEngine:
		var decision policy.Decision
		if decision, to.spent, why = c.evalCompiled(ctx, in, limit/compiledShare); why == "" {
			return decision
		}
	}
	to.guarded = why == policy.ReasonEngineStopped
	decision := c.evaluate(ctx, in, to)
	decision.WhyTopdown = why
	return decision
}

// limits bound an evaluation: a time, of which some is spent, and turns in a lane.
type limits struct {
	time, spent time.Duration
	lane        *Lane
	// guarded is set after the compiled engine gave up: what rules make may be large.
	guarded bool
}

func (c *Compiled) evaluate(ctx context.Context, in *Input, to limits) (decision policy.Decision) {
	decision = policy.Decision{Policy: c.Name(), Revision: c.revision, Engine: Topdown}
	e, err := c.evaluation(in, to.guarded)
	if err != nil {
		decision.Err = c.wrap(err)
		return decision
	}
	e.client = in.client
	if c.traced {
		e.trace = &tracer{hidden: in.kind == policy.GroupKind{Kind: "Secret"}}
		defer func() { decision.Trace = e.trace.String() }()
	}
	e.verdict(ctx, to, &decision)
	if len(decision.Violations) > 0 && decision.Err == nil {
		e.fix(ctx, in, to, &decision)
	}
	return decision
}

func (c *Compiled) wrap(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); len(text) > maxMessage {
		err = errors.New(prose.Shorten(text, maxMessage)) // it may quote the object
	}
	if help := compile.EvaluationHelp(err.Error()); help != "" {
		err = fmt.Errorf("%w; %s", err, help)
	}
	return fmt.Errorf("policy %s: %w", c.Name(), err)
}

// evaluation is the state of judging one input by one policy.
type evaluation struct {
	policy *Compiled
	input  *ast.Term
	now    time.Time
	cache  topdown.VirtualCache
	store  *store
	// watch is that of the rules that are being asked.
	watch *budget.Watch
	// guard ends what topdown can't be stopped in; nil where that can't become too large.
	guard *budget.Guard
	// client is in whose name it waits for its turns.
	client string
	// decoder reads what the rules give.
	decoder decoder
	// trace records what topdown does; nil where nobody asks.
	trace *tracer
}

func (c *Compiled) evaluation(in *Input, guarded bool) (e *evaluation, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the engine panicked: %v", cause)
		}
	}()
	e = &evaluation{
		policy:  c,
		input:   in.document(c),
		now:     in.now,
		decoder: c.decoder(in.kind),
		cache:   topdown.NewVirtualCache(),
		store:   &store{data: in.data().Value},
	}
	if guarded || c.costly || in.inventory != nil || in.tooLarge() {
		e.guard = &budget.Guard{Heads: c.heads}
	}
	return e, nil
}

// within gives rules a time limit of their own while they are asked.
func (e *evaluation) within(ctx context.Context, to limits, ask func(), rules ...string) {
	parts := 0
	for _, name := range rules {
		parts += len(e.policy.rules[name].parts)
	}
	e.watch = budget.NewWatch(budget.Options{Time: to.time, Spent: to.spent, Parts: parts, Lane: to.lane,
		Client: e.client, Policy: e.policy.Name()})
	defer e.watch.Stop()
	defer context.AfterFunc(ctx, e.watch.Cancel)()
	ask()
}

// verdict asks deny, violation and warn. What one of them found stays, whatever
// becomes of the others.
func (e *evaluation) verdict(ctx context.Context, to limits, decision *policy.Decision) {
	var denied, warned error
	e.within(ctx, to, func() {
		decision.Violations, denied = e.violations(ctx, ruleDeny, ruleViolation)
		decision.Warnings, warned = e.violations(ctx, ruleWarn)
	}, ruleDeny, ruleViolation, ruleWarn)
	decision.Err = e.policy.wrap(cmp.Or(denied, warned))
}

// fix asks remediation. That it fails says nothing of the verdict.
func (e *evaluation) fix(ctx context.Context, in *Input, to limits, decision *policy.Decision) {
	to.spent = 0
	if !in.audit {
		to.time /= fixShare
	}
	e.within(ctx, to, func() {
		var err error
		decision.Actions, err = e.actions(ctx)
		decision.FixErr = e.policy.wrap(err)
	}, ruleRemediation)
}

// violations evaluates the rules and gives their elements together, sorted by
// path, message and details, each once. What was found is there beside an error.
func (e *evaluation) violations(ctx context.Context, rules ...string) ([]policy.Violation, error) {
	var found violations
	var problems []error
	for _, name := range rules {
		elements, err := e.elements(ctx, name)
		if err != nil {
			problems = append(problems, err)
		}
		problems = append(problems, found.add(&e.decoder, name, elements)...)
	}
	return found.sorted(), firstOf(problems)
}

// actions evaluates remediation, sorted, each action once.
func (e *evaluation) actions(ctx context.Context) ([]policy.Action, error) {
	elements, err := e.elements(ctx, ruleRemediation)
	if err != nil {
		return nil, err
	}
	return e.decoder.actions(ruleRemediation, elements)
}

// decoder reads what the rules give for an object of a kind.
func (c *Compiled) decoder(kind policy.GroupKind) decoder {
	d := decoder{paths: c.pathBaseFor(kind)}
	if c.Gatekeepers() && c.taken {
		d.gatekeeper = ruleViolation
	}
	return d
}

// pathBaseFor moves the paths of a rule on Pods onto an object of the kind.
func (c *Compiled) pathBaseFor(kind policy.GroupKind) paths {
	if !c.templates || !policy.ReachedByTemplate(c.named, kind) {
		return paths{kind: kind}
	}
	path, _ := policy.TemplatePath(kind)
	return paths{template: path, kind: kind}
}
