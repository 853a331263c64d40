// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

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
	if text := textTest(name); text != nil {
		return func(_ *machine, a, b *ast.Term) verdict {
			x, ok := a.Value.(ast.String)
			y, okToo := b.Value.(ast.String)
			if !ok || !okToo || len(x) >= longText {
				return unsure
			}
			return verdictOf(text(string(x), string(y)))
		}
	}
	switch name {
	case ast.Equal.Name:
		return (*machine).equal
	case ast.NotEqual.Name:
		return (*machine).notEqual
	case ast.Member.Name:
		return member
	default:
		return typeTest(name)
	}
}

func textTest(name string) func(text, part string) bool {
	switch name {
	case ast.StartsWith.Name:
		return strings.HasPrefix
	case ast.EndsWith.Name:
		return strings.HasSuffix
	case ast.Contains.Name:
		return strings.Contains
	default:
		return nil
	}
}

func typeTest(name string) func(_ *machine, a, _ *ast.Term) verdict {
	switch name {
	case ast.IsString.Name:
		return is[ast.String]
	case ast.IsNumber.Name:
		return is[ast.Number]
	case ast.IsBoolean.Name:
		return is[ast.Boolean]
	case ast.IsNull.Name:
		return is[ast.Null]
	case ast.IsArray.Name:
		return is[*ast.Array]
	case ast.IsObject.Name:
		return is[ast.Object]
	case ast.IsSet.Name:
		return is[ast.Set]
	default:
		return nil
	}
}

func is[T ast.Value](_ *machine, a, _ *ast.Term) verdict {
	_, ok := a.Value.(T)
	return verdictOf(ok)
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

// quickValue is the value of a built-in function; nil where OPA's implementation is to be
// asked. It is nil itself for functions that aren't quick.
func quickValue(name string) func(operands []operand, f frame) *ast.Term {
	switch name {
	case ast.Count.Name:
		return count
	case ast.ObjectGet.Name:
		return objectGet
	default:
		return nil
	}
}

func count(operands []operand, f frame) *ast.Term {
	t := operands[0].get(f)
	if t == nil {
		return nil
	}
	switch t.Value.(type) {
	case *ast.Array, ast.Object, ast.Set:
		return integer(lengthOf(t))
	default:
		return nil
	}
}

func objectGet(operands []operand, f frame) *ast.Term {
	from, key, otherwise := operands[0].get(f), operands[1].get(f), operands[2].get(f)
	if from == nil || key == nil || otherwise == nil {
		return nil
	}
	object, ok := from.Value.(ast.Object)
	if !ok {
		return nil
	}
	path, ok := key.Value.(*ast.Array)
	if !ok {
		if large(key) {
			return nil
		}
		if v := object.Get(key); v != nil {
			return v
		}
		return otherwise
	}
	for i := range path.Len() {
		if large(path.Elem(i)) {
			return nil
		}
		if from = from.Get(path.Elem(i)); from == nil {
			return otherwise
		}
	}
	return from
}

// quick compiles the call of a quick function; nil for all others.
func (b *body) quick(name string, args []operand, result int, otherwise step) step {
	if value := quickValue(name); value != nil {
		return func(m *machine, f frame) outcome {
			v := value(args, f)
			if v == nil {
				return otherwise(m, f)
			}
			f[result] = v
			return next
		}
	}
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
