// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// The rules that the engine asks for, by the names that conftest and Gatekeeper
// users know.
const (
	ruleDeny        = "deny"
	ruleViolation   = "violation"
	ruleWarn        = "warn"
	ruleRemediation = "remediation"
)

// Compiled is one policy at one revision, ready to judge. It is immutable and
// safe for concurrent use.
type Compiled struct {
	definition *v1alpha1.ClusterRegoPolicy
	revision   string
	compiler   *ast.Compiler
	rules      map[string]rule
	parameters *ast.Term
	// named are the kinds that match.kinds spells out; templates says
	// whether a rule on Pods reaches the workload kinds too.
	named     []policy.GroupKind
	templates bool
	// costly is that of compile.Compiled, or set for large parameters.
	costly bool
	// heads are those of budget.Guard.
	heads map[*ast.Expr]*ast.Term
	// taken says that Gatekeeper takes the rule violation.
	taken bool
	// readsNamespace says that the rules may read the object's Namespace, and lookups what they may read of other
	// objects.
	readsNamespace bool
	lookups        facts.Lookups
	// lookedUp is where the modules name data.inventory first; nil where they don't.
	lookedUp *compile.Problem
	// references are the other objects that the rules see.
	references []inventory.Reference
	// entry is the package of the rules, engine what evaluates them, and shared what the
	// compiled engine has of them.
	entry  ast.Ref
	engine Engine
	shared *shared
	// traced says that decisions say how topdown came to them.
	traced bool
}

// Compile prepares a policy, strictly: an unused import or variable, or a
// forbidden built-in, is an error as much as a syntax error is. The rules are
// looked for in the package of rego.main. The error is a *CompileError.
func Compile(p *v1alpha1.ClusterRegoPolicy) (*Compiled, error) {
	if p.Spec.Rego.Main == "" {
		return nil, &compile.Error{
			Problems: []compile.Problem{{Message: "spec.rego.main is empty: give the Rego module with the rules"}}}
	}
	sources := p.Spec.Rego.Modules()
	modules, err := compile.Parse(sources, p.Spec.Rego.Version)
	if err != nil {
		return nil, err
	}
	entry := modules[0].Package.Path
	entryFile := sources[0].Name
	names, problems := entryRules(modules, entry, entryFile)
	if len(problems) > 0 {
		return nil, compile.ErrorOf(problems)
	}
	built, err := compile.Modules(p.Spec.Rego.Version, sources, modules)
	if err != nil {
		return nil, err
	}
	compiled := &Compiled{
		compiler: built.Compiler,
		rules:    make(map[string]rule, len(names)),
		costly:   built.Costly,
		heads:    budget.HeadsOf(built.Compiler.Modules),
		entry:    entry,
		engine:   Topdown,
		shared:   &shared{},
		lookedUp: built.Lookup,
	}
	for _, name := range names {
		if compiled.rules[name], err = prepare(built.Compiler, entry, name); err != nil {
			return nil, &compile.Error{Problems: compile.ProblemsOf(err, entryFile)}
		}
	}
	for _, module := range built.Compiler.Modules {
		settleConstants(module)
	}
	rules := make([]ast.Ref, 0, len(names))
	for _, name := range names {
		rules = append(rules, entry.Append(ast.StringTerm(name)))
	}
	compiled.taken = slices.Contains(names, ruleViolation) && takenByGatekeeper(
		built.Compiler.TypeEnv.GetByRef(entry.Append(ast.StringTerm(ruleViolation))))
	compiled.readsNamespace = facts.ReadsOf(built.Compiler, rules...).Namespace()
	compiled.lookups = facts.LookupsOf(built.Compiler, inventory.Root, rules...)
	return compiled.define(p)
}

// ReadsNamespace reports whether the rules may read the Namespace of the object.
func (c *Compiled) ReadsNamespace() bool { return c.readsNamespace }

// Name is the policy's name.
func (c *Compiled) Name() string { return c.definition.Name }

// Revision is the revision that judges.
func (c *Compiled) Revision() string { return c.revision }

// Policy is the definition that was compiled. It is shared: read it only.
func (c *Compiled) Policy() *v1alpha1.ClusterRegoPolicy { return c.definition }

// Redefine gives the same compiled rules another definition: of another policy with the same
// Rego too, with its own match and parameters. It errors when the Rego differs.
func (c *Compiled) Redefine(p *v1alpha1.ClusterRegoPolicy) (*Compiled, error) {
	if !c.SameRego(p) {
		return nil, fmt.Errorf("policy %s: its Rego isn't what was compiled as revision %s: compile it", p.Name,
			c.revision)
	}
	redefined := *c
	return redefined.define(p)
}

// SameRego says that a policy has the Rego that was compiled.
func (c *Compiled) SameRego(p *v1alpha1.ClusterRegoPolicy) bool {
	was, is := &c.definition.Spec.Rego, &p.Spec.Rego
	return compile.Version(was.Version) == compile.Version(is.Version) && slices.Equal(was.Modules(), is.Modules())
}

func (c *Compiled) define(p *v1alpha1.ClusterRegoPolicy) (*Compiled, error) {
	parameters, err := parametersTerm(p)
	if err != nil {
		return nil, &compile.Error{Problems: []compile.Problem{{Message: err.Error()}}}
	}
	c.definition, c.revision, c.parameters = p.DeepCopy(), Revision(p), parameters
	c.costly = c.costly || budget.Size(parameters.Value, budget.Large/4) > budget.Large/4
	c.named, c.templates = match.Named(p), p.Spec.Match.PodTemplates == nil || *p.Spec.Match.PodTemplates
	if c.references, err = c.referencesOf(p); err != nil {
		return nil, err
	}
	if err := c.uncovered(p.Spec.Match.References); err != nil {
		return nil, err
	}
	return c, nil
}

// entryRules lists which of the engine's rules the entry package has, in the
// order of evaluation.
func entryRules(modules []*ast.Module, entry ast.Ref, entryFile string) ([]string, []compile.Problem) {
	found := map[string]bool{}
	var problems []compile.Problem
	for name, r := range rulesOf(modules, entry) {
		if !isEntryRule(name) {
			continue
		}
		found[name] = true
		if len(r.Head.Args) > 0 {
			problems = append(problems,
				compile.At(r.Location, entryFile,
					fmt.Sprintf(
						"%s is a function: it must be a set of violations, as in `%s contains msg if { … }`", name,
						name)))
		}
	}
	if !found[ruleDeny] && !found[ruleViolation] && !found[ruleWarn] {
		problems = append(problems, noRules(modules, entry, entryFile))
	}
	var names []string
	for _, name := range []string{ruleDeny, ruleViolation, ruleWarn, ruleRemediation} {
		if found[name] {
			names = append(names, name)
		}
	}
	return names, problems
}

func rulesOf(modules []*ast.Module, entry ast.Ref) iter.Seq2[string, *ast.Rule] {
	return func(yield func(string, *ast.Rule) bool) {
		for _, module := range modules {
			if !module.Package.Path.Equal(entry) {
				continue
			}
			for _, r := range module.Rules {
				if !yield(r.Head.Ref()[0].Value.String(), r) {
					return
				}
			}
		}
	}
}

func isEntryRule(name string) bool {
	return name == ruleDeny || name == ruleViolation || name == ruleWarn || name == ruleRemediation
}

func parametersTerm(p *v1alpha1.ClusterRegoPolicy) (*ast.Term, error) {
	value, err := parameters(p)
	if err != nil {
		return nil, err
	}
	converted, err := ast.InterfaceToValue(value)
	if err != nil {
		return nil, errors.Join(errors.New("spec.parameters can't be read by Rego"), err)
	}
	inventory.Settle(converted)
	return ast.NewTerm(converted), nil
}
