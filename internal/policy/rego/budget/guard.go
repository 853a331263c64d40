// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// What a Guard panics with.
var (
	// ErrDeep is for a stack that is too deep.
	ErrDeep = errors.New("it compares too much at once")
	// ErrCopied is for a copy that is too large.
	ErrCopied = errors.New("an input or a value that `with` copies is too large")
	// ErrGathered is for an array of texts that are too long together.
	ErrGathered = errors.New("it gathers too many long texts")
)

const (
	// Large is how large an input is, written out, that a Guard is worth its time for: comparing a smaller one takes
	// some hundred megabytes of stack at most.
	Large = 512 << 10
	// maxCopied is how large what topdown copies for one `with` may be, written out: some 10 MB of memory.
	maxCopied = 1 << 20
	// maxGathered is how long the texts may be together that array comprehensions gather: each is hashed in the end.
	maxGathered = 2 << 30
)

// Guard ends what topdown does between two calls of Cancelled: it compares arrays element by element, each on the stack
// of the one before, copies all of the input or of data for each `with` that replaces a part, and hashes all elements
// of an array comprehension at once. Its events double the time of an evaluation.
type Guard struct {
	// Heads are the terms that array comprehensions gather, by the first expressions of their bodies.
	Heads            map[*ast.Expr]*ast.Term
	events, gathered int
}

// HeadsOf finds the array comprehensions of modules.
func HeadsOf(modules map[string]*ast.Module) map[*ast.Expr]*ast.Term {
	heads := map[*ast.Expr]*ast.Term{}
	for _, module := range modules {
		ast.WalkTerms(module, func(t *ast.Term) bool {
			if gathers, ok := t.Value.(*ast.ArrayComprehension); ok {
				heads[gathers.Body[0]] = gathers.Term
			}
			return false
		})
	}
	return heads
}

var _ topdown.QueryTracer = &Guard{}

// Enabled is topdown.QueryTracer.
func (*Guard) Enabled() bool { return true }

// Config is topdown.QueryTracer.
func (*Guard) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent is topdown.QueryTracer. It panics with ErrDeep, ErrCopied or ErrGathered.
func (g *Guard) TraceEvent(event topdown.Event) {
	if g.events++; g.events%stepsBetweenLooks == 0 && deep() {
		panic(ErrDeep)
	}
	switch node := event.Node.(type) {
	case ast.Body:
		if head := g.Heads[node[0]]; head != nil && event.Op == topdown.ExitOp {
			g.gathers(event.Plug(head))
		}
	case *ast.Expr:
		if event.Op == topdown.EvalOp && ReplacesPart(node) {
			copies(event, node)
		}
	}
}

func (g *Guard) gathers(element *ast.Term) {
	if text, ok := element.Value.(ast.String); ok {
		g.gathered += len(text)
	}
	if g.gathered > maxGathered {
		panic(ErrGathered)
	}
}

func copies(event topdown.Event, expr *ast.Expr) {
	bytes := int64(0)
	if input := event.Input(); input != nil {
		bytes = Size(input.Value, maxCopied)
	}
	for _, with := range expr.With {
		bytes += Size(event.Plug(with.Value).Value, maxCopied-bytes)
	}
	if bytes > maxCopied {
		panic(ErrCopied)
	}
}

// ReplacesPart reports whether an expression replaces a part of the input or of data (with input.a as …).
func ReplacesPart(expr *ast.Expr) bool {
	for _, with := range expr.With {
		target, isRef := with.Target.Value.(ast.Ref)
		if isRef && len(target) > 1 &&
			(target.HasPrefix(ast.InputRootRef) || target.HasPrefix(ast.DefaultRootRef)) {
			return true
		}
	}
	return false
}
