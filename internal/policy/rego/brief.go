// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/limit"
	"evenkeel.dev/evenkeel/internal/policy/rego/result"
	"evenkeel.dev/evenkeel/internal/policy/rego/size"
	"evenkeel.dev/evenkeel/pkg/rego/compiled"
)

// brief judges by the compiled engine within a time. The reason says why topdown must be asked
// instead: anything at all went wrong.
func (c *Compiled) brief(ctx context.Context, in *Input, allowed time.Duration) (
	decision policy.Decision, reason string) {
	defer func() {
		if cause := recover(); cause != nil {
			reason = policy.ReasonEvaluationFailed // topdown says what it is
		}
	}()
	weights, err := c.prepared(in)
	if err != nil {
		return decision, policy.ReasonEvaluationFailed
	}
	watch := limit.NewBrief(allowed, weights)
	defer watch.Stop()
	options := &compiled.Options{
		Fields: in.fields(c), Data: in.data(), Strict: c.definition.Spec.Rego.Strict(),
		Budget:   compiled.Budget{Steps: briefSteps, Values: briefValues},
		Cancel:   watch,
		Heavy:    watch.Heavy,
		Builtins: c.shared.weighs,
		Context:  topdown.BuiltinContext{Time: in.nanoseconds, Capabilities: c.compiler.Capabilities()},
	}
	if !c.shared.program.ReadsFieldsOnly() {
		options.Input = ast.ObjectTerm(options.Fields...)
	}
	e := c.shared.program.Begin(ctx, options)
	b := &briefly{policy: c, evaluation: e, decoder: c.decoder(in.kind)}
	decision = policy.Decision{Policy: c.Name(), Revision: c.revision, Engine: CompiledEngine}
	err = cmp.Or(b.decide(&decision), watch.Refused())
	e.End()
	if err != nil {
		return policy.Decision{}, whyLeft(err)
	}
	return decision, ""
}

// prepared converts an input, and weighs it.
func (c *Compiled) prepared(in *Input) (*size.Scale, error) {
	if _, err := in.shared(); err != nil {
		return nil, err
	}
	return c.scaleOf(in)
}

// whyLeft tells a bound of the compiled engine's own from what went wrong otherwise.
func whyLeft(err error) string {
	if topdown.IsCancel(err) || errors.Is(err, compiled.ErrSteps) || errors.Is(err, compiled.ErrMemory) ||
		errors.Is(err, compiled.ErrDepth) {
		return policy.ReasonEngineStopped
	}
	return policy.ReasonEvaluationFailed
}

// briefly is the state of judging one input by the compiled engine.
type briefly struct {
	policy     *Compiled
	evaluation compiled.Evaluation
	decoder    result.Decoder
}

// decide asks the rules; what it found is of no use beside an error.
func (b *briefly) decide(decision *policy.Decision) (err error) {
	if decision.Violations, err = b.violations(ruleDeny, ruleViolation); err != nil {
		return err
	}
	if decision.Warnings, err = b.violations(ruleWarn); err != nil || len(decision.Violations) == 0 {
		return err
	}
	elements, err := b.elements(ruleRemediation)
	if err != nil {
		return err
	}
	decision.Actions, err = b.decoder.Actions(ruleRemediation, elements)
	return err
}

func (b *briefly) violations(rules ...string) ([]policy.Violation, error) {
	var found result.Violations
	for _, name := range rules {
		elements, err := b.elements(name)
		if err != nil {
			return nil, err
		}
		if problems := found.Add(&b.decoder, name, elements); len(problems) > 0 {
			return nil, result.First(problems)
		}
	}
	return found.Sorted(), nil
}

// elements are those of a rule, none when the policy lacks it or it is undefined.
func (b *briefly) elements(name string) ([]*ast.Term, error) {
	rule, ok := b.policy.shared.rules[name]
	if !ok {
		return nil, nil
	}
	value, err := b.evaluation.Rule(rule)
	if err != nil || value == nil {
		return nil, err
	}
	elements, err := b.decoder.Elements(name, value)
	if err == nil && len(elements) > result.MaxFound {
		err = result.ErrTooMany
	}
	return elements, err
}
