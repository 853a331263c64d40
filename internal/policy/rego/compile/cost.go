// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Bounds of what is compiled: together they take a processor a few seconds at most. OPA
// can't be stopped while it compiles.
const (
	// maxRegoText is the most Rego that a policy may have, in bytes.
	maxRegoText = 512 << 10
	// maxRules is the most rules: OPA follows what each refers to, all the way.
	maxRules = 2048
	// maxBodies bounds the cubes of how many expressions each body has: OPA puts them in
	// order by comparing all with all, again and again. One body may have 400.
	maxBodies = 64_000_000
	// maxReferred bounds how many definitions all references lead to: OPA looks at each, several times.
	maxReferred = 2_000_000
)

// textLimit refuses more Rego than can be compiled in time, before it is parsed.
func textLimit(sources []v1alpha1.RegoLibrary) []Problem {
	total := 0
	for _, source := range sources {
		if total += len(source.Source); total > maxRegoText {
			return []Problem{
				{File: source.Name, Message: fmt.Sprintf(
					"the policy's Rego is longer than %d bytes: divide it into several policies", maxRegoText)}}
		}
	}
	return nil
}

// compileCost adds up what takes the compiler long.
type compileCost struct {
	rules, bodies int
	// definitions are how many rules of a name there are, and uses how many references may mean them.
	definitions, uses map[string]int
}

// add counts a module in, and says what is too much.
func (c *compileCost) add(module *ast.Module) []Problem {
	if c.uses == nil {
		c.definitions, c.uses = map[string]int{}, map[string]int{}
	}
	ast.WalkRules(module, func(rule *ast.Rule) bool {
		c.rules++
		c.definitions[string(rule.Head.Ref()[0].Value.(ast.Var))]++
		return false
	})
	c.refer(module)
	ast.WalkBodies(module, func(body ast.Body) bool {
		c.body(body)
		return false
	})
	file := module.Package.Location.File
	switch {
	case c.rules > maxRules:
		return []Problem{
			{File: file, Message: fmt.Sprintf("the policy has more than %d rules: divide it into several policies",
				maxRules)}}
	case c.referred() > maxReferred:
		return []Problem{{File: file, Message: fmt.Sprintf("all references together lead to more than %d definitions: "+
			"divide rules of many definitions, or the policy", maxReferred)}}
	case c.bodies > maxBodies:
		return []Problem{{File: file, Message: "bodies of rules have too many expressions (one may have 400 at most, " +
			"with all calls): divide them into several rules"}}
	}
	return nil
}

// refer counts names by which references may mean rules: their first, and those behind data.
func (c *compileCost) refer(module *ast.Module) {
	ast.WalkTerms(module, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Var:
			c.uses[string(v)]++
		case ast.Ref:
			if !v.HasPrefix(ast.DefaultRootRef) {
				break
			}
			for _, key := range v[1:] {
				if name, isText := key.Value.(ast.String); isText {
					c.uses[string(name)]++
				}
			}
		}
		return false
	})
}

func (c *compileCost) referred() (total int) {
	for name, definitions := range c.definitions {
		total += definitions * c.uses[name]
	}
	return total
}

// body counts the expressions that a body will have: each call within one becomes another.
func (c *compileCost) body(body ast.Body) {
	if c.bodies > maxBodies {
		return
	}
	n := 0
	ast.WalkTerms(body, func(t *ast.Term) bool {
		switch t.Value.(type) {
		case ast.Call, ast.Ref, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
			n++
		}
		return false
	})
	n = max(n, len(body))
	c.bodies += n * n * n
}
