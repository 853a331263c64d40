// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// mayReadManagedFields says that an expression may read metadata.managedFields of an object: in doubt it does.
func mayReadManagedFields(expression *cel.Ast) bool {
	root := ast.NavigateAST(expression.NativeRep())
	return slices.ContainsFunc(ast.MatchDescendants(root, ast.KindMatcher(ast.IdentKind)),
		func(e ast.NavigableExpr) bool {
			return slices.Contains([]string{varObject, varOldObject}, e.AsIdent()) && !readsOthers(e)
		})
}

// readsOthers says that an object is only compared with null, or that another field of it or of its metadata is named.
func readsOthers(object ast.NavigableExpr) bool {
	parent, found := object.Parent()
	if !found {
		return false
	}
	if parent.Kind() == ast.CallKind {
		call := parent.AsCall()
		return slices.Contains([]string{operators.Equals, operators.NotEquals}, call.FunctionName()) &&
			slices.ContainsFunc(call.Args(), isNull)
	}
	if parent.Kind() != ast.SelectKind {
		return false
	}
	if parent.AsSelect().FieldName() != "metadata" || parent.AsSelect().IsTestOnly() {
		return true
	}
	below, found := parent.Parent()
	return found && below.Kind() == ast.SelectKind && below.AsSelect().FieldName() != "managedFields"
}

func isNull(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
}
