// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// mostGathered bounds of how many parts a set may be made: of more it isn't followed which are read.
const mostGathered = 64

// set is a rule that makes a set, as a reference names it.
type set struct {
	// name leads to the rule, and at is where the operand stands that is bound to each element: 3 of
	// data.a.containers[c].
	name string
	at   int
	// rules are its definitions.
	rules []*ast.Rule
}

// setOf is the set into which a reference leads by one more operand. A rule that makes several sets, by a key, is none.
func (r *reader) setOf(ref ast.Ref) (set, bool) {
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return set{}, false
	}
	for at := 2; at < len(ref) && r.spend(1); at++ {
		if _, isText := ref[at-1].Value.(ast.String); !isText {
			break
		}
		if s := r.ruleNamed(ref[:at]); s.at > 0 {
			return s, len(s.rules) > 0
		}
	}
	return set{}, false
}

// ruleNamed is the set that the rule of a name makes, without rules where it makes none; at is 0 where there is no
// rule.
func (r *reader) ruleNamed(ref ast.Ref) set {
	name := ref.String()
	if s, known := r.named[name]; known {
		return s
	}
	s := set{name: name, rules: r.compiler.GetRulesExact(ref)}
	if len(s.rules) > 0 {
		s.at = len(ref)
	}
	for _, rule := range s.rules {
		if !r.spend(1) || rule.Head.RuleKind() != ast.MultiValue || rule.Head.Key == nil || !rule.Ref().Equal(ref) {
			s.rules = nil
			break
		}
	}
	r.named[name] = s
	return s
}

// elementOf is the variable that stands for each element of a set where a reference leads into one: c of containers[c].
func (a *aliases) elementOf(ref ast.Ref) (set, ast.Var, bool) {
	s, ok := a.setOf(ref)
	if !ok {
		return set{}, "", false
	}
	v, isVar := ref[s.at].Value.(ast.Var)
	return s, v, isVar
}

// elementsOf are the variables of a rule that may stand for each element of a set, with how many references bind
// or compare them. It matters to an array how many elements there are, and to nothing else that a body gives: one whose
// elements become equal, because they differ in what isn't read alone, has fewer.
func (a *aliases) elementsOf(rule *ast.Rule) (elements map[ast.Var]set, concern map[ast.Var]int) {
	elements, concern = map[ast.Var]set{}, map[ast.Var]int{}
	ast.WalkRefs(rule, func(ref ast.Ref) bool {
		if s, v, ok := a.elementOf(ref); ok {
			elements[v] = s
			concern[v]++
		}
		return false
	})
	ast.WalkTerms(rule, func(t *ast.Term) bool {
		if array, ok := t.Value.(*ast.ArrayComprehension); ok {
			ast.WalkRefs(array, func(ref ast.Ref) bool {
				if _, v, ok := a.elementOf(ref); ok {
					delete(elements, v)
				}
				return false
			})
		}
		return false
	})
	return elements, concern
}

// isElement says that a reference leads into a set by a variable that does no more than stand for each of its elements.
func (a *aliases) isElement(ref ast.Ref) (set, bool) {
	if len(a.elements) == 0 {
		return set{}, false
	}
	s, v, ok := a.elementOf(ref)
	if !ok {
		return set{}, false
	}
	_, ok = a.elements[v]
	return s, ok
}

// gathered are the parts of the document of which a set is made; known is false where they can't be told.
func (r *reader) gathered(s set) (paths []path, known bool) {
	if gathered, found := r.sets[s.name]; found {
		return gathered, gathered != nil
	}
	r.sets[s.name] = nil // a set that is made of itself isn't known
	gathered, has := []path{}, map[string]bool{}
	for _, rule := range s.rules {
		for _, p := range newBody(r, rule, nil).gather(rule) {
			if key := p.String(); !has[key] {
				has[key] = true
				gathered = append(gathered, p)
			}
		}
		if len(gathered) > mostGathered || !r.spend(1) {
			return nil, false
		}
	}
	r.sets[s.name] = gathered
	return gathered, true
}

// gather looks at one definition of a set, and is the parts of the document that it puts into it. What is made of parts
// is read.
func (b *body) gather(rule *ast.Rule) []path {
	b.use(rule.Body)
	if _, isVar := rule.Head.Key.Value.(ast.Var); isVar {
		if paths, known := b.of(rule.Head.Key); known {
			return paths
		}
	}
	b.use(rule.Head.Key)
	return nil
}
