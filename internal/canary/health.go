// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// healthCost bounds the evaluation of a health expression, in CEL's units of
	// cost: thousands of list elements, some milliseconds at the most.
	healthCost = 100_000
	// healthLength is the longest health expression, in characters, as in the API.
	healthLength = 1024
	// maxHealthRules is the most rules of a strategy, as in the API.
	maxHealthRules = 16

	objectVariable = "object"
)

// HealthVerdict is what a rule says of an object.
type HealthVerdict int

const (
	// HealthInProgress: not well, or nothing can be said yet.
	HealthInProgress HealthVerdict = iota
	// HealthCurrent: all is well.
	HealthCurrent
	// HealthFailed: it has failed for good.
	HealthFailed
)

// HealthRuleFor finds the rule for a kind: the plan's own, or that for a
// well-known kind.
func HealthRuleFor(rules []v1alpha1.PlannedHealthRule, group, kind string) (v1alpha1.PlannedHealthRule, bool) {
	of := func(r v1alpha1.PlannedHealthRule) bool { return r.APIGroup == group && r.Kind == kind }
	if i := slices.IndexFunc(rules, of); i >= 0 {
		return rules[i], true
	}
	known := KnownHealth()
	if i := slices.IndexFunc(known, of); i >= 0 {
		return known[i], true
	}
	return v1alpha1.PlannedHealthRule{}, false
}

// JudgeHealth evaluates a rule on an object. What can't be calculated is in progress,
// with the reason: a status that isn't there yet is no proof. It errs when the rule
// itself is wrong.
func JudgeHealth(rule v1alpha1.PlannedHealthRule, object map[string]any) (HealthVerdict, string, error) {
	if rule.Failed != "" {
		failed, why, err := holds(rule.Failed, object)
		if err != nil {
			return HealthInProgress, "", fmt.Errorf("failed: %w", err)
		}
		if failed && why == "" {
			return HealthFailed, "its health rule says that it has failed: " + rule.Failed, nil
		}
	}
	current, why, err := holds(rule.Current, object)
	switch {
	case err != nil:
		return HealthInProgress, "", fmt.Errorf("current: %w", err)
	case why != "":
		return HealthInProgress, "its health rule can't be calculated: " + why, nil
	case current:
		return HealthCurrent, "its health rule holds", nil
	default:
		return HealthInProgress, "its health rule doesn't hold: " + rule.Current, nil
	}
}

// holds evaluates an expression; why says why it can't be calculated on this object.
func holds(expr string, object map[string]any) (held bool, why string, err error) {
	program, err := parseHealth(expr)
	if err != nil {
		return false, "", err
	}
	out, _, err := program.Eval(map[string]any{objectVariable: object})
	if err != nil {
		return false, err.Error(), nil
	}
	if held, ok := out.(types.Bool); ok {
		return bool(held), "", nil
	}
	return false, fmt.Sprintf("it gives a %s, not true or false", out.Type()), nil
}

// parseHealth compiles a health expression: any CEL of the standard library, with
// its macros and optional fields, over the object, that is true or false.
func parseHealth(expr string) (cel.Program, error) {
	env, err := cel.NewEnv(cel.Variable(objectVariable, cel.DynType), cel.OptionalTypes(),
		cel.ParserExpressionSizeLimit(healthLength),
		cel.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	checked, issues := env.Compile(expr)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		message := fmt.Sprintf("column %d: %s", first.Location.Column()+1, first.Message)
		if strings.Contains(first.Message, "undeclared reference") {
			message += ": the object is called object, for example object.status.phase == 'Running'"
		}
		return nil, fmt.Errorf("isn't a health expression: %s", message)
	}
	if gives := checked.OutputType(); !gives.IsExactType(cel.BoolType) && !gives.IsExactType(cel.DynType) {
		return nil, fmt.Errorf(
			"must be true or false, not a %s: compare it, for example object.status.phase == 'Running'",
			checked.OutputType())
	}
	if !uses(checked, objectVariable) {
		return nil, errors.New(
			"doesn't use object, and so says nothing of its health: for example object.status.phase == 'Running'")
	}
	program, err := env.Program(checked, cel.CostLimit(healthCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, fmt.Errorf("can't be evaluated: %w", err)
	}
	return program, nil
}

func checkHealth(p *problems, s *v1alpha1.HealthStrategy) {
	if s == nil {
		return
	}
	oneOf(p, "health.unknown", s.Unknown, v1alpha1.UnknownHealthHold, v1alpha1.UnknownHealthAllow)
	p.atMost("health.rules", len(s.Rules), maxHealthRules)
	for i, r := range s.Rules {
		at := fmt.Sprintf("health.rules[%d]", i)
		if r.Kind == "" {
			p.add(at+".kind", "name the kind that the rule is for")
		}
		first := slices.IndexFunc(s.Rules, func(o v1alpha1.HealthRule) bool {
			return o.APIGroup == r.APIGroup && o.Kind == r.Kind
		})
		if first < i {
			p.add(at, "%s has a rule already, health.rules[%d]: put both into one", r.Kind, first)
		}
		_, err := parseHealth(r.Current)
		p.addErr(at+".current", err)
		if r.Failed != "" {
			_, err := parseHealth(r.Failed)
			p.addErr(at+".failed", err)
		}
	}
}
