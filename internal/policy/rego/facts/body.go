// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// body looks at what one definition of a rule does with the document.
type body struct {
	*aliases
}

func newBody(r *reader, rule *ast.Rule, arguments []argument) *body {
	return &body{aliases: newAliases(r, rule, arguments)}
}

// definition looks at one definition, and at those that come in its place (else).
func (b *body) definition(rule *ast.Rule, arguments []argument) {
	for i, argument := range rule.Head.Args {
		if v, isVar := argument.Value.(ast.Var); (!isVar || b.bound[v] > 1) && i < len(arguments) {
			b.read(arguments[i].paths...) // it is compared with a pattern, or with another argument
		}
	}
	for _, term := range rule.Head.Ref()[1:] {
		b.use(term)
	}
	for _, term := range []*ast.Term{rule.Head.Key, rule.Head.Value} {
		if term != nil {
			b.use(term)
		}
	}
	b.use(rule.Body)
	if rule.Else != nil {
		b.definition(rule.Else, arguments)
	}
}

// use notes all that is read of the document where a term or body stands.
func (b *body) use(x any) {
	ast.NewGenericVisitor(func(x any) bool {
		if !b.spend(1) {
			return true
		}
		switch x := x.(type) {
		case *ast.Expr:
			b.expression(x)
		case *ast.Every:
			b.use(x.Domain)
			b.use(x.Body)
		case ast.Call:
			b.call(x)
		case ast.Ref:
			b.reference(x)
		case ast.Var:
			if paths, known := b.of(ast.NewTerm(x)); known {
				b.read(paths...)
			}
		case *ast.TemplateString:
			b.all()
		default:
			return false
		}
		return true
	}).Walk(x)
}

func (b *body) expression(e *ast.Expr) {
	b.with(e)
	switch terms := e.Terms.(type) {
	case *ast.Term:
		if ref, ok := terms.Value.(ast.Ref); ok && b.asks(ref) {
			return
		}
		b.use(terms)
	case *ast.Every:
		b.use(terms)
	case []*ast.Term:
		if v, named := b.by[e]; named {
			b.named(v)
			return
		}
		b.call(terms)
	default:
		b.all()
	}
}

// with looks at what stands in for something else in an expression.
func (b *body) with(e *ast.Expr) {
	for _, with := range e.With {
		b.use(with.Value)
		if target, ok := with.Target.Value.(ast.Ref); !ok || target[0].Value.Compare(ast.InputRootDocument.Value) != 0 {
			b.all() // another rule or function stands in for the one that is looked at
		}
	}
}

// named looks at what a variable is another name of: that it is there is read here, and the rest where the name is
// used.
func (b *body) named(v ast.Var) {
	term := b.names[v]
	paths, known := b.of(term)
	if !known {
		b.use(term)
		return
	}
	b.there(paths...)
	if ref, ok := term.Value.(ast.Ref); ok {
		b.operands(ref)
	}
}

// asks looks at an expression that says no more than that something is there, and isn't false.
func (b *body) asks(ref ast.Ref) bool {
	paths, known := b.of(ast.NewTerm(ref))
	if known {
		b.operands(ref)
		b.there(paths...)
	}
	return known
}

func (b *body) reference(ref ast.Ref) {
	b.operands(ref)
	if paths, known := b.of(ast.NewTerm(ref)); known {
		b.read(paths...)
		return
	}
	if ref.HasPrefix(ast.DefaultRootRef) {
		if b.mayLead(ref) {
			b.all()
		}
		b.rules(ref)
		return
	}
	if _, isVar := ref[0].Value.(ast.Var); !isVar {
		b.use(ref[0])
	}
}

// mayLead says that a reference holds all of what is looked at, or may lead into it by a key that is
// computed.
func (r *reader) mayLead(ref ast.Ref) bool {
	for i := range min(len(ref), len(r.root)) {
		_, isText := ref[i].Value.(ast.String)
		if (i == 0 || isText) && !ref[i].Equal(r.root[i]) {
			return false
		}
	}
	return true
}

// operands are the keys of a reference: they are read.
func (b *body) operands(ref ast.Ref) {
	for _, operand := range ref[1:] {
		b.use(operand)
	}
}

// call follows a function of the policy, with what of the input it is given; built-in functions but object.get
// read all that they are given.
func (b *body) call(terms []*ast.Term) {
	var rules []*ast.Rule
	name, isRef := terms[0].Value.(ast.Ref)
	if isRef && name.Equal(ast.ObjectGet.Ref()) && b.get(terms[1:]) {
		return
	}
	if isRef && name.HasPrefix(ast.DefaultRootRef) {
		rules = b.compiler.GetRules(name)
	}
	arity := 0
	for _, rule := range rules {
		arity = max(arity, len(rule.Head.Args))
	}
	given := b.given(terms[1:], arity)
	if len(rules) == 0 && (!isRef || name.HasPrefix(ast.DefaultRootRef)) {
		b.all()
	}
	b.function(rules, given)
}

// given is what of the input a function of so many arguments is given. What isn't known is read, and so is what comes
// behind them.
func (b *body) given(operands []*ast.Term, arity int) []argument {
	given := make([]argument, 0, arity)
	for i, operand := range operands {
		if i >= arity {
			b.use(operand)
			continue
		}
		paths, known := b.of(operand)
		if !known {
			b.use(operand)
		} else if ref, ok := operand.Value.(ast.Ref); ok {
			b.there(paths...) // the function is asked only if it is
			b.operands(ref)
		}
		text, isText := b.text(operand)
		given = append(given, argument{paths: paths, text: text, isText: isText})
	}
	return given
}

// get looks at a call of object.get, which reads what stands under a key of an object, or under several, of which each
// stands below the one before; done is false where nothing is known of the object.
func (b *body) get(operands []*ast.Term) (done bool) {
	if len(operands) < 3 {
		return false
	}
	object, key := operands[0], operands[1]
	paths, known := b.of(object)
	if !known {
		return false
	}
	if ref, ok := object.Value.(ast.Ref); ok {
		b.operands(ref)
	}
	keys := []*ast.Term{key}
	if list, ok := key.Value.(*ast.Array); ok {
		keys = keys[:0]
		list.Foreach(func(key *ast.Term) { keys = append(keys, key) })
	}
	b.read(b.below(paths, keys)...)
	for _, operand := range operands[1:] {
		b.use(operand)
	}
	return true
}
