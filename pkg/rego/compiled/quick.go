// SPDX-License-Identifier: Apache-2.0

package compiled

import "github.com/open-policy-agent/opa/v1/ast"

// Some built-in functions take less time than the call of OPA's implementation does: they are
// written here anew, for operands of the right types. All others are left to OPA's, so that
// errors are OPA's.

// verdict is what a quick test gives.
type verdict int8

const (
	unsure verdict = iota // OPA's implementation is to be asked
	no
	yes
	ended // the evaluation is to end; the error is in the machine
)

func verdictOf(holds bool) verdict {
	if holds {
		return yes
	}
	return no
}

// quickTest is the test of a built-in function that gives true or false of one operand or
// two; nil for all others.
func quickTest(name string) func(m *machine, a, b *ast.Term) verdict {
	if ordered := comparison(name); ordered != nil {
		return func(m *machine, a, b *ast.Term) verdict { return m.inOrder(a, b, ordered) }
	}
	switch name {
	case ast.Equal.Name:
		return (*machine).equal
	case ast.NotEqual.Name:
		return (*machine).notEqual
	case ast.Member.Name:
		return member
	default:
		return nil
	}
}

func member(_ *machine, a, b *ast.Term) verdict {
	if large(a) {
		return unsure
	}
	switch c := b.Value.(type) {
	case ast.Set:
		return verdictOf(c.Contains(a))
	case *ast.Array:
		if c.Len() >= longArray {
			return unsure
		}
		for i := range c.Len() {
			if same(a, c.Elem(i)) {
				return yes
			}
		}
		return no
	default:
		return unsure
	}
}

// quick compiles the call of a quick function; nil for all others.
func (b *body) quick(name string, args []operand, result int, otherwise step) step {
	test := b.tested(name, args)
	if test == nil {
		return nil
	}
	t, n := ast.InternedTerm(true), ast.InternedTerm(false)
	return func(m *machine, f frame) outcome {
		switch test(m, f) {
		case yes:
			f[result] = t
		case no:
			f[result] = n
		case ended:
			return failed
		default:
			return otherwise(m, f)
		}
		return next
	}
}

// tested is a quick test of a frame's operands; nil when the function isn't one.
func (b *body) tested(name string, args []operand) func(*machine, frame) verdict {
	test := quickTest(name)
	if test == nil {
		return nil
	}
	first, second := args[0], args[len(args)-1]
	return func(m *machine, f frame) verdict {
		x, y := first.get(f), second.get(f)
		if x == nil || y == nil {
			return unsure
		}
		return test(m, x, y)
	}
}
