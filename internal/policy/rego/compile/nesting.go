// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxNesting bounds the weight of what is nested in a policy. OPA looks at what stands
// within a comprehension, a union or a template string several times, so that each level
// doubles its time: two hundred bytes can keep it busy for days. So much takes it about
// a second.
const maxNesting = 1 << 14

// weight grows with each thing by its depth.
type weight int

func (w *weight) add(depth int) { *w += 1 << min(depth, 20) }

func (w weight) problem(file string) []Problem {
	if w <= maxNesting {
		return nil
	}
	return []Problem{{File: file, Message: fmt.Sprintf("comprehensions, unions, every or template strings are nested "+
		"too deep, or are too many that are nested (weight %d, limit %d): bring the inner ones into rules of their own",
		w, maxNesting)}}
}

// nestedText weighs each "|" of a module by how many of the brackets around it hold
// one, before it is parsed.
func nestedText(source string) (w weight) {
	var open []bool // the brackets that are open, and whether they hold a "|"
	depth := 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '"', '`', '#':
			i = literalEnd(source, i)
		case '[', '{', '(':
			open = append(open, false)
		case ']', '}', ')':
			if n := len(open); n > 0 {
				if open[n-1] {
					depth--
				}
				open = open[:n-1]
			}
		case '|':
			if n := len(open); n > 0 && !open[n-1] {
				open[n-1] = true
				depth++
			}
			w.add(depth)
		}
	}
	return w
}

func literalEnd(source string, i int) int {
	switch source[i] {
	case '`':
		return i + 1 + max(strings.IndexByte(source[i+1:], '`'), 0)
	case '#':
		return i + max(strings.IndexByte(source[i:], '\n'), 0)
	}
	for i++; i < len(source) && source[i] != '"' && source[i] != '\n'; i++ {
		if source[i] == '\\' {
			i++
		}
	}
	return i
}

// nestedTerms weighs what a parsed module nests by how deep it is nested.
func nestedTerms(module *ast.Module) (w weight) {
	depth := 0
	nests := func(x any) bool {
		switch x.(type) {
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.Every, *ast.TemplateString:
			return true
		}
		return false
	}
	var visitor *ast.BeforeAfterVisitor
	visitor = ast.NewBeforeAfterVisitor(func(x any) bool {
		if nests(x) {
			depth++
			w.add(depth)
		}
		if text, ok := x.(*ast.TemplateString); ok {
			for _, part := range text.Parts { // the visitor stops at them
				visitor.Walk(part)
			}
		}
		return false
	}, func(x any) {
		if nests(x) {
			depth--
		}
	})
	visitor.Walk(module)
	return w
}
