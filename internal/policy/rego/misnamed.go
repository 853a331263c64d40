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
// for, where the policy has none of that name or nothing refers to them: nothing asks them. It is a guess,
// for warnings.
func Misnamed(p *v1alpha1.ClusterRegoPolicy) []compile.Problem {
	sources := p.Spec.Rego.Modules()
	modules, err := compile.Parse(sources, p.Spec.Rego.Version)
	if err != nil {
		return nil
	}
	entry := modules[0].Package.Path
	asked, _ := entryRules(modules, entry, sources[0].Name)
	entries := []string{ruleDeny, ruleViolation, ruleWarn, ruleRemediation}
	absent := slices.DeleteFunc(slices.Clone(entries),
		func(name string) bool { return slices.Contains(asked, name) })
	used := named(modules)
	var problems []compile.Problem
	seen := map[string]bool{}
	for name, r := range rulesOf(modules, entry) {
		if seen[name] || isEntryRule(name) {
			continue
		}
		seen[name] = true
		message := ""
		if near := prose.Nearest(name, absent); near != "" {
			message = fmt.Sprintf("nothing asks the rule %s, and there is no rule %s: did you mean that?", name, near)
		} else if near := prose.Nearest(name, entries); near != "" && !used[name] {
			message = fmt.Sprintf("nothing asks the rule %s: did you mean %s?", name, near)
		}
		if message != "" {
			problems = append(problems, compile.At(r.Location, sources[0].Name, message))
		}
	}
	return problems
}

// named are the names that the bodies, values and arguments of rules hold: what isn't among them no rule refers to.
func named(modules []*ast.Module) map[string]bool {
	names := map[string]bool{}
	note := func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Var:
			names[string(v)] = true
		case ast.String:
			names[string(v)] = true
		}
		return false
	}
	for _, module := range modules {
		for _, rule := range module.Rules {
			for r := rule; r != nil; r = r.Else {
				ast.WalkTerms(r.Body, note)
				for _, t := range append([]*ast.Term{r.Head.Key, r.Head.Value}, r.Head.Args...) {
					if t != nil {
						ast.WalkTerms(t, note)
					}
				}
			}
		}
	}
	return names
}
