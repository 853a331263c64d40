// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// Problem is one reason why a policy doesn't compile, and where.
type Problem = compile.Problem

// CompileError says why a policy doesn't compile. Problems is never empty.
type CompileError = compile.Error

// Lane lets evaluations that take long take turns.
type Lane = budget.Lane

// NewLane lets a number of slow evaluations run at once.
func NewLane(width int) *Lane { return budget.NewLane(width) }

// What a decision's error has in its chain when its policy was stopped.
var (
	// ErrTimeLimit is for a policy that was stopped at its time budget.
	ErrTimeLimit = budget.ErrTime
	// ErrMemoryLimit is for one that was stopped because it made too much.
	ErrMemoryLimit = budget.ErrMemory
)

// settleConstants settles what is written down in rules.
func settleConstants(m *ast.Module) {
	ast.WalkTerms(m, func(t *ast.Term) bool {
		switch t.Value.(type) {
		case *ast.Array, ast.Set, ast.Object:
			if t.IsGround() {
				inventory.Settle(t.Value)
				return true
			}
		}
		return false
	})
}
