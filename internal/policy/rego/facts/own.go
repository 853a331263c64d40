// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ownNamespace stands in a path for the namespace of the object that is judged, where a rule looks objects up by it.
const ownNamespace = "\x00own"

// isOwnNamespace says that a part of the input is the namespace of the object that a scan judges. That of the old
// object isn't among them: a scan has none.
func isOwnNamespace(p path) bool {
	return slices.ContainsFunc([]path{
		{"object", "metadata", "namespace"}, {"pod", "metadata", "namespace"},
		{"request", "namespace"}, {"request", "object", "metadata", "namespace"},
		{"review", "namespace"}, {"review", "object", "metadata", "namespace"},
	}, func(own path) bool { return slices.Equal(own, p) })
}

// namers tell which operands of references are the judged object's own namespace whenever they are evaluated. They say
// so only where the order of a body has made it certain before: a rule that goes through all namespaces, and compares
// them with that one afterwards, may fail on what it finds on the way.
type namers struct {
	*reader
	// values are the parts of the input that rules with a single value have, nil for all others.
	values map[*ast.Rule]path
	// operands are those of each rule that was asked for.
	operands map[*ast.Rule]map[*ast.Term]bool
}

// newNamers is nil where anything may stand in place of the input, or of another rule: then nothing is certain. What
// they look at is no part of what their reader may.
func newNamers(compiler *ast.Compiler) *namers {
	for _, module := range compiler.Modules {
		replaces := false
		ast.WalkExprs(module, func(e *ast.Expr) bool {
			replaces = replaces || len(e.With) > 0
			return replaces
		})
		if replaces {
			return nil
		}
	}
	return &namers{reader: newReader(ast.InputRootRef, longestPath, compiler), values: map[*ast.Rule]path{},
		operands: map[*ast.Rule]map[*ast.Term]bool{}}
}

// of are the operands of a rule that are the object's namespace.
func (n *namers) of(rule *ast.Rule) map[*ast.Term]bool {
	if n == nil {
		return nil
	}
	if known, found := n.operands[rule]; found {
		return known
	}
	b := &naming{namers: n, known: map[ast.Var]path{}, own: map[*ast.Term]bool{}}
	for stage := rule; stage != nil; stage = stage.Else {
		b.definition(stage)
	}
	maps.DeleteFunc(b.own, func(_ *ast.Term, own bool) bool { return !own || n.left < 0 })
	n.operands[rule] = b.own
	return b.own
}

// value is the part of the input that a rule stands for which a reference begins with, and what is left of the
// reference.
func (n *namers) value(ref ast.Ref) (p path, rest ast.Ref, known bool) {
	for at := 2; at <= len(ref) && n.spend(1); at++ {
		if _, isText := ref[at-1].Value.(ast.String); !isText {
			break
		}
		if rules := n.compiler.GetRulesExact(ref[:at]); len(rules) > 0 {
			p, known = n.single(rules)
			return p, ref[at:], known
		}
	}
	return nil, nil, false
}

// single is the part of the input that the one definition of a rule gives.
func (n *namers) single(rules []*ast.Rule) (path, bool) {
	rule := rules[0]
	head := rule.Head
	if len(rules) > 1 || rule.Default || rule.Else != nil || len(head.Args) > 0 || head.Value == nil ||
		head.RuleKind() != ast.SingleValue || !head.Ref().IsGround() {
		return nil, false
	}
	if p, found := n.values[rule]; found {
		return p, p != nil
	}
	n.values[rule] = nil // one that is made of itself has no value
	b := &naming{namers: n, known: map[ast.Var]path{}, own: map[*ast.Term]bool{}}
	b.body(rule.Body)
	p, known := b.input(head.Value)
	if !known || len(p) == 0 {
		return nil, false
	}
	n.values[rule] = p
	return p, true
}

// naming goes through a body in the order in which it is evaluated.
type naming struct {
	*namers
	// known are the variables that are a part of the input from where it has come on.
	known map[ast.Var]path
	// own are the operands that were met: false for one that stood somewhere as something else, too.
	own map[*ast.Term]bool
}

func (b *naming) definition(rule *ast.Rule) {
	b.known = map[ast.Var]path{}
	b.body(rule.Body)
	b.mark(rule.Head.Reference)
	for _, term := range []*ast.Term{rule.Head.Key, rule.Head.Value} {
		if term != nil {
			b.mark(term)
		}
	}
}

// body goes through one, and learns from each expression for those after it.
func (b *naming) body(body ast.Body) {
	for _, e := range body {
		if !b.spend(1) {
			return
		}
		b.mark(e)
		b.learn(e)
	}
}

// within goes through a body that stands in another, and through what is made there. What is learned there holds
// nowhere else.
func (b *naming) within(body ast.Body, made ...*ast.Term) {
	inner := &naming{namers: b.namers, known: maps.Clone(b.known), own: b.own}
	if !b.spend(1 + len(inner.known)) {
		return
	}
	inner.body(body)
	for _, term := range made {
		inner.mark(term)
	}
}

// indexed goes through a comprehension that topdown indexes: it evaluates that once, for all values of the variables
// that the body around it has bound, which therefore aren't known there (topdown.eval.buildComprehensionCache).
func (b *naming) indexed(comprehension ast.Value) {
	inner := &naming{namers: b.namers, known: map[ast.Var]path{}, own: b.own}
	inner.mark(comprehension)
}

// mark notes which operands are the object's namespace by what is known.
func (b *naming) mark(x any) {
	ast.NewGenericVisitor(func(x any) bool {
		if !b.spend(1) {
			return true
		}
		switch x := x.(type) {
		case *ast.Term:
			if b.compiler.ComprehensionIndex(x) == nil || len(b.known) == 0 {
				return false
			}
			b.indexed(x.Value)
		case *ast.Every:
			b.mark(x.Domain)
			b.within(x.Body)
		case *ast.ArrayComprehension:
			b.within(x.Body, x.Term)
		case *ast.SetComprehension:
			b.within(x.Body, x.Term)
		case *ast.ObjectComprehension:
			b.within(x.Body, x.Key, x.Value)
		case ast.Ref:
			b.operands(x)
			return false
		default:
			return false
		}
		return true
	}).Walk(x)
}

// operands notes which of a reference are the object's namespace.
func (b *naming) operands(ref ast.Ref) {
	for _, operand := range ref[min(1, len(ref)):] {
		p, known := b.input(operand)
		before, met := b.own[operand]
		b.own[operand] = known && isOwnNamespace(p) && (before || !met)
	}
}

// learn takes a variable for a part of the input where an expression says that it is one, and is true.
func (b *naming) learn(e *ast.Expr) {
	terms, ok := e.Terms.([]*ast.Term)
	if !ok || len(terms) != 3 || e.Negated || !e.IsEquality() {
		return
	}
	for i, side := range terms[1:] {
		v, isVar := side.Value.(ast.Var)
		if p, known := b.input(terms[2-i]); isVar && known && b.known[v] == nil {
			b.known[v] = p
		}
	}
}

// input is the part of the input that a term is.
func (b *naming) input(t *ast.Term) (path, bool) {
	var p path
	var rest ast.Ref
	known := false
	switch v := t.Value.(type) {
	case ast.Var:
		p, known = b.variable(v)
	case ast.Ref:
		if head, isVar := v[0].Value.(ast.Var); isVar {
			p, known = b.variable(head)
			rest = v[1:]
		}
		if v.HasPrefix(ast.DefaultRootRef) {
			p, rest, known = b.value(v)
		}
	}
	if !known || len(p)+len(rest) > longestPath {
		return nil, false
	}
	p = slices.Clone(p)
	for _, operand := range rest {
		key, isText := operand.Value.(ast.String)
		if !isText {
			return nil, false
		}
		p = append(p, string(key))
	}
	return p, true
}

func (b *naming) variable(v ast.Var) (path, bool) {
	if v.Equal(ast.InputRootDocument.Value) {
		return path{}, true
	}
	p, known := b.known[v]
	return p, known
}
