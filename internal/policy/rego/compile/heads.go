// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// computed stands for a key of a rule's head that isn't constant, as the element of a set.
	computed = "*"
	// mostHeads is how many ways to define one rule are compared.
	mostHeads = 64
)

// head is the keys of one definition: r.a[x] has a and a computed one.
type head struct {
	keys []string
	at   *ast.Location
	text string
}

// overlappingHeads refuses a rule that is defined once below a computed key and once in another way, where the two may
// define the same: r[x][y] beside r.a.b. OPA 1.22.2 gives such a rule a type that holds itself, and the checker of
// types then recurses until the stack of the process overflows, from which no program recovers.
func overlappingHeads(c *ast.Compiler) *ast.Error {
	rules := map[string]map[string]head{}
	for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
		module := c.Modules[name]
		for _, rule := range module.Rules {
			ref := rule.Head.Ref()
			of := module.Package.Path.String() + " " + ref[0].Value.String()
			if rules[of] == nil {
				rules[of] = map[string]head{}
			}
			h := headOf(rule, ref)
			rules[of][strings.Join(h.keys, "\x00")] = h
		}
	}
	for _, of := range slices.Sorted(maps.Keys(rules)) {
		if err := overlaps(rules[of]); err != nil {
			return err
		}
	}
	return nil
}

func headOf(rule *ast.Rule, ref ast.Ref) head {
	h := head{at: rule.Loc(), text: ref[0].Value.String()}
	for _, key := range ref[1:] {
		text, shown := computed, "_"
		if ast.IsConstant(key.Value) {
			text = key.Value.String()
			shown = text
		}
		h.keys, h.text = append(h.keys, text), h.text+"["+shown+"]"
	}
	if rule.Head.RuleKind() == ast.MultiValue {
		h.keys, h.text = append(h.keys, computed), h.text+" contains"
	}
	return h
}

// overlaps finds two definitions of one rule that overlap, of which one goes on below a computed key.
func overlaps(heads map[string]head) *ast.Error {
	sorted := slices.Sorted(maps.Keys(heads))
	for i, a := range sorted {
		below := slices.Index(heads[a].keys, computed)
		if below < 0 || below == len(heads[a].keys)-1 {
			continue
		}
		if len(sorted) > mostHeads {
			return ast.NewError(ast.CompileErr, heads[a].at, "%s is defined below a computed key, and the rule in "+
				"more than %d other ways: divide it into rules of other names", heads[a].text, mostHeads)
		}
		for j, b := range sorted {
			if i != j && heads[a].meets(heads[b]) {
				return ast.NewError(ast.CompileErr, heads[a].at, "%s and %s (line %d) may define the same value, and "+
					"one of them is below a computed key: give one of the rules another name", heads[a].text,
					heads[b].text, heads[b].at.Row)
			}
		}
	}
	return nil
}

// meets says that both may define the same, or one what the other holds: up to the first keys that differ, those are
// the same constants, or computed.
func (h head) meets(other head) bool {
	for i := range min(len(h.keys), len(other.keys)) {
		a, b := h.keys[i], other.keys[i]
		if a != b {
			return a == computed || b == computed
		}
	}
	return true
}
