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
)

const (
	// Large is how large an input is, written out, that a Guard is worth its time for: comparing a smaller one takes
	// some hundred megabytes of stack at most.
	Large = 512 << 10
	// maxCopied is how large what topdown copies for one `with` may be, written out: some 10 MB of memory.
	maxCopied = 1 << 20
)

// Guard ends what topdown does between two calls of Cancelled: it compares arrays element by element, each on the stack
// of the one before, and copies all of the input or of data for each `with` that replaces a part. Its events double the
// time of an evaluation.
type Guard struct{ events int }

var _ topdown.QueryTracer = &Guard{}

// Enabled is topdown.QueryTracer.
func (*Guard) Enabled() bool { return true }

// Config is topdown.QueryTracer.
func (*Guard) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent is topdown.QueryTracer. It panics with ErrDeep or ErrCopied.
func (g *Guard) TraceEvent(event topdown.Event) {
	if g.events++; g.events%stepsBetweenLooks == 0 && deep() {
		panic(ErrDeep)
	}
	expr, ok := event.Node.(*ast.Expr)
	if !ok || event.Op != topdown.EvalOp || !ReplacesPart(expr) {
		return
	}
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
