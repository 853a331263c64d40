// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/prose"
)

// noRules says that nothing judges, at the rule that was most likely meant to.
func noRules(modules []*ast.Module, entry ast.Ref, entryFile string) compile.Problem {
	at, meant := ast.NewLocation(nil, entryFile, 1, 1), ""
	for name, r := range rulesOf(modules, entry) {
		if near := prose.Nearest(name, []string{ruleDeny, ruleViolation, ruleWarn}); near != "" {
			at, meant = r.Location, fmt.Sprintf("; did you mean %s by %s?", near, name)
			break
		}
	}
	return compile.At(at, entryFile, fmt.Sprintf(
		"%s has none of the rules deny, violation and warn: the policy would judge nothing; give its package one of "+
			"them%s", entry, meant))
}

// Misnamed are the rules of a policy that are called nearly as one that the engine asks
// for, where the policy has none of that name: nothing asks them. It is a guess, for
// warnings.
func Misnamed(p *v1alpha1.ClusterRegoPolicy) []compile.Problem {
	sources := p.Spec.Rego.Modules()
	modules, err := compile.Parse(sources, p.Spec.Rego.Version)
	if err != nil {
		return nil
	}
	entry := modules[0].Package.Path
	asked, _ := entryRules(modules, entry, sources[0].Name)
	absent := slices.DeleteFunc([]string{ruleDeny, ruleViolation, ruleWarn, ruleRemediation},
		func(name string) bool { return slices.Contains(asked, name) })
	var problems []compile.Problem
	seen := map[string]bool{}
	for name, r := range rulesOf(modules, entry) {
		if near := prose.Nearest(name, absent); near != "" && !seen[name] && !isEntryRule(name) {
			seen[name] = true
			problems = append(problems, compile.At(r.Location, sources[0].Name, fmt.Sprintf(
				"nothing asks the rule %s, and there is no rule %s: did you mean that?", name, near)))
		}
	}
	return problems
}
