// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/token"
	"testing"
)

// TestSpecsUpdateAgainAfterAConflict: controllers write the status of what a spec has just read,
// so that an update that is expected to succeed at once fails now and then. rig.Update tries again.
func TestSpecsUpdateAgainAfterAConflict(t *testing.T) {
	looked := parsedIn(t, "test", true, func(_ string, places *token.FileSet, parsed *ast.File) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && updatesOnce(call) {
				t.Errorf("%s: whoever writes the object meanwhile fails the spec: use rig.Update or rig.UpdateStatus, "+
					"or Eventually and g.Expect", places.Position(call.Pos()))
			}
			return true
		})
	})
	if looked < 100 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// updatesOnce says whether a call is Expect(CLIENT.Update(…)).To(Succeed()).
func updatesOnce(call *ast.CallExpr) bool {
	to, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || to.Sel.Name != "To" || len(call.Args) == 0 {
		return false
	}
	expect, ok := to.X.(*ast.CallExpr)
	if !ok || !calls(expect, "Expect") || len(expect.Args) != 1 || !calls(call.Args[0], "Succeed") {
		return false
	}
	update, ok := expect.Args[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := update.Fun.(*ast.SelectorExpr)
	return ok && method.Sel.Name == "Update"
}

// calls says whether an expression calls a function of this name, of no package or object.
func calls(e ast.Expr, name string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.Ident)
	return ok && f.Name == name
}
