// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// maxCopiedParts bounds the values of all copies that topdown may hold at once for with: so many take some 30 MB.
const maxCopiedParts = 1 << 17

// CopyGuard ends an evaluation before topdown copies too much: for each with that replaces a part of the input or of
// data it copies all of that, with what stands for parts of it already, and doesn't ask meanwhile whether it must stop.
// Copies live as long as what is asked by them, so that as many may at once as there are places that make them.
type CopyGuard struct {
	// Places is how many there are, at least 1.
	Places int
}

var _ topdown.QueryTracer = CopyGuard{}

// Enabled is topdown.QueryTracer.
func (CopyGuard) Enabled() bool { return true }

// Config is topdown.QueryTracer: variables aren't listed.
func (CopyGuard) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent is called before an expression is evaluated. It panics with ErrHeavy.
func (g CopyGuard) TraceEvent(event topdown.Event) {
	expr, ok := event.Node.(*ast.Expr)
	if !ok || event.Op != topdown.EvalOp || len(expr.With) == 0 {
		return
	}
	most := maxCopiedParts / g.Places
	ofInput := false
	for _, with := range expr.With {
		switch partOf(with) {
		case ast.InputRootDocument.Value:
			ofInput = true
		case ast.DefaultRootDocument.Value:
			// What stands for parts of data isn't seen here: all of it together is held to what one copy may take.
			take(most/g.Places, event.Plug(with.Value))
		}
	}
	if !ofInput {
		return
	}
	left := most
	if input := event.Input(); input != nil {
		left = take(left, input)
	}
	for _, with := range expr.With {
		left = take(left, event.Plug(with.Value))
	}
}

// partOf is the document of which a with replaces a part; nil for none.
func partOf(with *ast.With) ast.Value {
	target, isRef := with.Target.Value.(ast.Ref)
	switch {
	case !isRef || len(target) == 1:
		return nil
	default:
		return target[0].Value
	}
}

// take takes what a copy of a value takes from what is left.
func take(left int, value *ast.Term) int {
	if left -= size.Parts(value.Value, left+1); left < 0 {
		panic(ErrHeavy)
	}
	return left
}
