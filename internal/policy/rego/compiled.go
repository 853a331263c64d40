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
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/pkg/rego/compiled"
)

// evalCompiled evaluates the rules by the compiled engine within a time, and says what it spent. The reason says why
// topdown must evaluate them instead: anything at all went wrong.
func (c *Compiled) evalCompiled(ctx context.Context, in *Input, allowed time.Duration) (
	decision policy.Decision, spent time.Duration, reason string) {
	watch := budget.NewBrief(allowed)
	defer func() {
		spent = watch.Stop()
		if cause := recover(); cause != nil {
			reason = policy.ReasonEvaluationFailed // topdown says what it is
		}
	}()
	options := &compiled.Options{
		Fields: in.fields(c), Data: in.data(), Strict: c.definition.Spec.Rego.Strict(),
		Budget:  compiled.Budget{Steps: compiledSteps, Values: compiledValues},
		Cancel:  watch,
		Context: topdown.BuiltinContext{Time: in.nanoseconds, Capabilities: c.compiler.Capabilities()},
	}
	if !c.shared.program.ReadsFieldsOnly() {
		options.Input = ast.ObjectTerm(options.Fields...)
	}
	e := c.shared.program.Begin(ctx, options)
	eval := &compiledEval{policy: c, evaluation: e, decoder: c.decoder(in.kind)}
	decision = policy.Decision{Policy: c.Name(), Revision: c.revision, Engine: CompiledEngine}
	err := cmp.Or(eval.decide(&decision), watch.Refused())
	e.End()
	if err != nil {
		return policy.Decision{}, 0, whyLeft(err)
	}
	return decision, 0, ""
}

// whyLeft distinguishes a bound of the compiled engine's own from any other error.
func whyLeft(err error) string {
	if topdown.IsCancel(err) || errors.Is(err, compiled.ErrSteps) || errors.Is(err, compiled.ErrMemory) ||
		errors.Is(err, compiled.ErrDepth) {
		return policy.ReasonEngineStopped
	}
	return policy.ReasonEvaluationFailed
}

// compiledEval is the evaluation of one input by the compiled engine.
type compiledEval struct {
	policy     *Compiled
	evaluation compiled.Evaluation
	decoder    decoder
}

// decide evaluates the rules. What it found counts only without an error.
func (e *compiledEval) decide(decision *policy.Decision) (err error) {
	if decision.Violations, err = e.violations(ruleDeny, ruleViolation); err != nil {
		return err
	}
	if decision.Warnings, err = e.violations(ruleWarn); err != nil || len(decision.Violations) == 0 {
		return err
	}
	elements, err := e.elements(ruleRemediation)
	if err != nil {
		return err
	}
	decision.Actions, err = e.decoder.actions(ruleRemediation, elements)
	return err
}

func (e *compiledEval) violations(rules ...string) ([]policy.Violation, error) {
	var found violations
	for _, name := range rules {
		elements, err := e.elements(name)
		if err != nil {
			return nil, err
		}
		if problems := found.add(&e.decoder, name, elements); len(problems) > 0 {
			return nil, firstOf(problems)
		}
	}
	return found.sorted(), nil
}

// elements are those of a rule, none when the policy lacks it or it is undefined.
func (e *compiledEval) elements(name string) ([]*ast.Term, error) {
	rule, ok := e.policy.shared.rules[name]
	if !ok {
		return nil, nil
	}
	value, err := e.evaluation.Rule(rule)
	if err != nil || value == nil {
		return nil, err
	}
	elements, err := e.decoder.elements(name, value)
	if err == nil && len(elements) > maxFound {
		err = errTooMany
	}
	return elements, err
}
