// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

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
	for at := 2; at < len(ref); at++ {
		if _, isText := ref[at-1].Value.(ast.String); !isText {
			break
		}
		exact := r.compiler.GetRulesExact(ref[:at])
		if len(exact) == 0 {
			continue
		}
		for _, rule := range exact {
			if rule.Head.RuleKind() != ast.MultiValue || rule.Head.Key == nil || !rule.Ref().Equal(ref[:at]) {
				return set{}, false
			}
		}
		return set{name: ref[:at].String(), at: at, rules: exact}, true
	}
	return set{}, false
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
	gathered := []path{}
	for _, rule := range s.rules {
		gathered = append(gathered, newBody(r, rule, nil).gather(rule)...)
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
