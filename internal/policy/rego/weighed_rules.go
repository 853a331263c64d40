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

// What topdown may copy at once: it copies all of the input, and all that stands for a part of it or of data, for each
// with that replaces another part, without asking whether it must stop.
const (
	// maxCopiedParts bounds the values in the input: a copy of so many takes some 30 MB.
	maxCopiedParts = 1 << 17
	// maxCopiedUnits bounds in units what all values together weigh that may stand for parts at once.
	maxCopiedUnits = 1 << 18
)

// byTopdown weighs for one evaluation by topdown.
func (c *Compiled) byTopdown(in *Input) (*size.Scale, error) {
	weights, err := c.prepared(in)
	if err != nil || c.replaces == 0 {
		return weights, err
	}
	left := maxCopiedParts
	for _, field := range in.fields(c) {
		if left -= size.Parts(field[1].Value, left); left <= 0 {
			return nil, fmt.Errorf("%w: the input holds too many values for rules that replace a part of it or of "+
				"data (with input.a as …), for which the engine topdown copies all of it each time: replace input as "+
				"a whole, or take the part as an argument of a function", limit.ErrMemory)
		}
	}
	parts, _ := in.sizes()
	scale := []map[ast.Value]int64{parts}
	if in.inventory != nil {
		scale = append(scale, in.inventory.Sizes)
	}
	return size.NewScale(min(c.most, maxCopiedUnits/int64(c.replaces)), scale...), nil
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
