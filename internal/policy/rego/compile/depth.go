// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// maxDepth bounds how deep one term is nested, and how long a reference is. OPA's compiler
	// and its planner go through terms and types recursively, some of them again for each level:
	// a few thousand levels keep them busy for minutes.
	maxDepth = 256
	// maxCollections bounds how deep collections are nested in one term. OPA compares the types of
	// two collections forth and back at each level, so that each doubles the time: so many take it
	// half a second. A Deployment, written out with all its affinities, takes 17.
	maxCollections = 24
)

// deepText says that more brackets of a module are open at once than a term may be nested; it
// is asked before the module is parsed.
func deepText(source string) bool {
	open := 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '"', '`', '#':
			i = literalEnd(source, i)
		case '[', '{', '(':
			if open++; open > maxDepth {
				return true
			}
		case ']', '}', ')':
			open = max(open-1, 0)
		}
	}
	return false
}

func tooDeep(file string) []Problem {
	return []Problem{{File: file, Message: fmt.Sprintf("a term is nested deeper than %d levels, or a reference or a "+
		"package's name is longer: bring the inner ones into rules of their own", maxDepth)}}
}

// depths add up how deep the terms of a policy are nested.
type depths struct {
	// deepest is that of one term or reference, and held of the collections in one.
	deepest, held int
}

// add counts a parsed module in, and says what is too much.
func (d *depths) add(module *ast.Module) []Problem {
	d.path(module.Package.Path)
	for _, imported := range module.Imports {
		d.of(imported.Path)
	}
	ast.WalkRules(module, func(r *ast.Rule) bool {
		d.path(r.Head.Ref())
		d.of(r.Head)
		return false
	})
	ast.WalkExprs(module, func(e *ast.Expr) bool {
		d.of(e)
		return false
	})
	file := module.Package.Location.File
	switch {
	case d.deepest > maxDepth:
		return tooDeep(file)
	case d.held > maxCollections:
		return []Problem{{File: file, Message: fmt.Sprintf("a value is nested deeper than %d levels: bring the inner "+
			"ones into rules of their own", maxCollections)}}
	}
	return nil
}

func (d *depths) path(ref ast.Ref) {
	d.deepest = max(d.deepest, len(ref))
	for _, t := range ref {
		d.of(t)
	}
}

// of goes through a part of a module.
func (d *depths) of(part any) {
	terms, collections := 0, 0
	ast.NewBeforeAfterVisitor(func(x any) bool {
		t, ok := x.(*ast.Term)
		if !ok {
			return false
		}
		if ref, ok := t.Value.(ast.Ref); ok {
			d.deepest = max(d.deepest, len(ref))
		}
		terms += levels(t)
		collections += holds(t)
		d.deepest, d.held = max(d.deepest, terms), max(d.held, collections)
		return d.deepest > maxDepth
	}, func(x any) {
		if t, ok := x.(*ast.Term); ok {
			terms -= levels(t)
			collections -= holds(t)
		}
	}).Walk(part)
}

func levels(t *ast.Term) int {
	switch t.Value.(type) {
	case ast.Ref, ast.Call:
		return 1
	}
	return holds(t)
}

func holds(t *ast.Term) int {
	switch t.Value.(type) {
	case *ast.Array, ast.Set, ast.Object, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
		return 1
	}
	return 0
}
