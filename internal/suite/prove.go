// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// proof tries one example.
type proof struct {
	file    string
	example *Example
	judge   *judge
	others  *neighbours
	failed  []Failure
}

func prove(
	ctx context.Context, file string, definition *v1alpha1.ClusterRegoPolicy, engine rego.Engine, others *neighbours,
	example *Example,
) []Failure {
	known := inventory.NewFixed(example.Inventory, nil)
	p := &proof{file: file, example: example, others: &neighbours{others.snapshot.Seeing(known)}}
	var err error
	if p.judge, err = newJudge(definition, engine, example.Parameters, known); err != nil {
		p.fail("the policy to compile", err.Error())
		return p.failed
	}
	if decision, ok := p.verdict(ctx); ok {
		p.fix(ctx, decision)
	}
	return p.failed
}

func (p *proof) fail(expected, got string) {
	p.failed = append(p.failed, Failure{File: p.file, Line: p.example.line, Subject: p.example.Name,
		Expected: expected, Got: got})
}

// verdict holds the example's own verdict against what is expected. It is false
// when there is none, or not the expected one: then the fix isn't worth a try.
func (p *proof) verdict(ctx context.Context) (policy.Decision, bool) {
	decision, matched := p.judge.decide(ctx, p.example.request(nil))
	switch {
	case !matched && p.example.matched():
		p.fail("the policy to concern the object", "its match leaves the object out")
		return decision, false
	case matched && !p.example.matched():
		p.fail("the policy to leave the object out", "its match concerns the object")
		return decision, false
	case !matched:
		return decision, false
	case decision.Err != nil:
		p.fail("a verdict", decision.Err.Error())
		return decision, false
	case decision.FixErr != nil:
		p.fail("a fix, or none", decision.FixErr.Error())
		return decision, false
	}
	if !accord(p.example.Expect.Violations, decision.Violations) {
		p.fail("violations:\n"+quoteParts(p.example.Expect.Violations), quoteFound(decision.Violations))
	}
	if !accord(p.example.Expect.Warnings, decision.Warnings) {
		p.fail("warnings:\n"+quoteParts(p.example.Expect.Warnings), quoteFound(decision.Warnings))
	}
	return decision, len(p.failed) == 0
}

// fix proves the fix: it applies, it resolves, it gives the manifest that the example
// shows, and fixing again changes nothing.
func (p *proof) fix(ctx context.Context, decision policy.Decision) {
	wanted, manifest := p.example.wantsFix()
	switch {
	case !wanted && len(decision.Actions) > 0:
		p.fail("no fix (say fixed: true where one is right)", text(decision.Actions))
		return
	case wanted && len(decision.Actions) == 0:
		p.fail("a fix", "the policy offers none")
		return
	case !wanted:
		return
	}
	if verb, add, forbidden := action.Forbidden(p.judge.allowed, decision.Actions); forbidden {
		p.fail(fmt.Sprintf("a fix of the verbs in remediation.allowedActions, %v", p.judge.allowed),
			fmt.Sprintf("it uses %q: add %s to them", verb, add))
		return
	}
	fixed, made, err := apply(p.example.request(nil).Judged(), decision.Actions)
	if err != nil {
		p.fail("a fix that can be applied", err.Error())
		return
	}
	p.fixed(ctx, fixed, made, manifest)
}

// fixed holds the object as the fix leaves it, and what the fix made, against what is expected.
func (p *proof) fixed(ctx context.Context, fixed map[string]any, made []map[string]any, manifest map[string]any) {
	if fixed == nil { // what is gone violates nothing, and can't be fixed twice
		if manifest != nil {
			p.fail("the fixed object to be\n"+text(manifest), "the fix removes it (say fixed: true)")
		}
		return
	}
	if manifest != nil && text(fixed) != text(manifest) {
		p.fail("the fixed object to be\n"+text(manifest), text(fixed))
	}
	// Rules look up what there is after the fix, as the proof of a rollout has it.
	after := p.example.request(fixed)
	after.Beside = append(made, fixed)
	p.resolved(ctx, fixed, after)
	if harm := p.others.harm(ctx, p.judge.name, p.example.request(nil), after); harm != "" {
		p.fail("a fix that breaks no other policy of the directory", harm)
	}
}

func (p *proof) resolved(ctx context.Context, fixed map[string]any, request *policy.Request) {
	again, matched := p.judge.decide(ctx, request)
	switch {
	case !matched:
		p.fail("the policy to concern the fixed object too", "its match leaves the fixed object out: that is no fix")
		return
	case again.Err != nil:
		p.fail("a verdict on the fixed object", again.Err.Error())
		return
	case len(again.Violations) > 0:
		p.fail("a fix that resolves the violation", quoteFound(again.Violations))
	}
	twice, _, err := apply(fixed, again.Actions)
	if err == nil && twice == nil {
		err = errors.New("it removes the object")
	}
	if err != nil {
		p.fail("a second fix that changes nothing", err.Error())
		return
	}
	if text(twice) != text(fixed) {
		p.fail("a second fix that changes nothing", text(twice))
	}
}
