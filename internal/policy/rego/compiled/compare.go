// SPDX-License-Identifier: Apache-2.0

package compiled

import "github.com/open-policy-agent/opa/v1/ast"

const (
	// longText is from how many bytes on it may take longer to compare, search or hash a text than a few
	// steps do, and longArray likewise for the elements of an array that are looked at one after the other.
	longText, longArray = 4096, 256
)

// large says that one comparison of a value, or looking it up, may take as long as many thousand steps: how
// much a collection holds isn't known without looking at all of it.
func large(t *ast.Term) bool {
	switch v := t.Value.(type) {
	case ast.String:
		return len(v) >= longText
	case ast.Number, ast.Boolean, ast.Null:
		return false
	case *ast.Array:
		return v.Len() > 0
	default:
		return true
	}
}

// isLongText says that a value is a text which takes long to hash. What a collection hashes to, it knows.
func isLongText(t *ast.Term) bool {
	text, ok := t.Value.(ast.String)
	return ok && len(text) >= longText
}

// before asks whether to stop before a value becomes an element of a set, which may take long.
func (m *machine) before(element *ast.Term) outcome {
	if text, ok := element.Value.(ast.String); ok && len(text) < longText || !large(element) {
		return next
	}
	return m.inspect()
}

// beforeEntry does so before a key and its value become an entry of an object.
func (m *machine) beforeEntry(key, value *ast.Term) outcome {
	if !large(key) && !isLongText(value) {
		return next
	}
	return m.inspect()
}

// same compares two registers: it gives next where they are the same, undefined where they aren't, and failed
// where the evaluation is to end before a comparison that may take long. That isn't stopped in between: whoever
// evaluates bounds what a value holds by Options.Heavy.
func (m *machine) same(a, b *ast.Term) outcome {
	if a == b {
		return next
	}
	if a == nil || b == nil {
		return undefined
	}
	switch x := a.Value.(type) {
	case ast.String:
		if len(x) < longText {
			y, ok := b.Value.(ast.String)
			return passing(ok && x == y)
		}
	case ast.Number:
		if y, ok := b.Value.(ast.Number); ok && x == y {
			return next
		}
	}
	if large(a) && large(b) && m.inspect() == failed {
		return failed
	}
	return passing(a.Value.Compare(b.Value) == 0)
}

func passing(holds bool) outcome {
	if holds {
		return next
	}
	return undefined
}

// same compares two registers at once.
func same(a, b *ast.Term) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	if x, ok := a.Value.(ast.String); ok {
		y, ok := b.Value.(ast.String)
		return ok && x == y
	}
	return a.Value.Compare(b.Value) == 0
}

func (m *machine) equal(a, b *ast.Term) verdict {
	switch m.same(a, b) {
	case next:
		return yes
	case undefined:
		return no
	default:
		return ended
	}
}

func (m *machine) notEqual(a, b *ast.Term) verdict {
	switch m.same(a, b) {
	case next:
		return no
	case undefined:
		return yes
	default:
		return ended
	}
}

func comparison(name string) func(order int) bool {
	switch name {
	case ast.LessThan.Name:
		return func(order int) bool { return order < 0 }
	case ast.LessThanEq.Name:
		return func(order int) bool { return order <= 0 }
	case ast.GreaterThan.Name:
		return func(order int) bool { return order > 0 }
	case ast.GreaterThanEq.Name:
		return func(order int) bool { return order >= 0 }
	default:
		return nil
	}
}

// inOrder compares as same does.
func (m *machine) inOrder(a, b *ast.Term, ordered func(order int) bool) verdict {
	if large(a) && large(b) && m.inspect() == failed {
		return ended
	}
	return verdictOf(ordered(a.Value.Compare(b.Value)))
}
