// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/limit"
	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// scaleOf weighs for one evaluation. What rules may do with the input as it is, they must
// be able to do with all copies that they may make of it.
func (c *Compiled) scaleOf(in *Input) (*size.Scale, error) {
	parts, units := in.sizes()
	scale := []map[ast.Value]int64{parts}
	if in.inventory != nil {
		units, scale = size.Plus(units, in.inventory.Units), append(scale, in.inventory.Sizes)
	}
	if units/4 > c.most {
		return nil, fmt.Errorf("%w: the input, with what match.references name, is too large for rules that hold one "+
			"part of it so many times", limit.ErrMemory)
	}
	return size.NewScale(max(c.most, units), scale...), nil
}

// weighedRules are the values that rules gave: each passes here before it is used.
type weighedRules struct {
	topdown.VirtualCache
	watch *limit.Watch
}

// Put keeps what a rule gave, and ends the evaluation if that is too much.
func (r *weighedRules) Put(ref ast.Ref, value *ast.Term) {
	if value != nil && r.watch.Heavy(value.Value) {
		panic(limit.ErrHeavy)
	}
	r.VirtualCache.Put(ref, value)
}
