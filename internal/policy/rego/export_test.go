// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"context"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
)

// EvaluateCounted judges an input by topdown, and says how many expressions were evaluated: what the verdict and its
// fix cost, on any machine.
func (c *Compiled) EvaluateCounted(ctx context.Context, in *Input, limit time.Duration) (
	decision policy.Decision, expressions int64) {
	e, err := c.evaluation(in, false)
	if err != nil {
		decision.Err = err
		return decision, 0
	}
	e.client = in.client
	e.verdict(ctx, limits{time: limit}, &decision)
	expressions = e.watch.Steps()
	if len(decision.Violations) > 0 && decision.Err == nil {
		e.fix(ctx, in, limits{time: limit}, &decision)
		expressions += e.watch.Steps()
	}
	return decision, expressions
}
