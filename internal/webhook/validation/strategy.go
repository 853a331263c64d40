// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"net/http"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

const endpointStrategy = "strategy"

// StrategyHandler refuses a RemediationStrategy that couldn't be followed, when it is
// written, by the judge that also judges what a policy says itself.
type StrategyHandler struct {
	serving.Base
	// Floors is how careful every strategy must be at the least.
	Floors limits.Floors
	// Plans are those at work, whose windows stay; nil when nothing is said of them.
	Plans Plans
}

func (h *StrategyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointStrategy, h.answer)
}

func (h *StrategyHandler) answer(ctx context.Context, req *policy.Request) serving.Response {
	var s v1alpha1.RemediationStrategy
	if resp, done := read(req, &s); done {
		return resp
	}
	var found problems
	for _, wrong := range canary.Validate(&s.Spec) {
		found.addIf(wrong.Message, "spec."+wrong.Field)
	}
	if len(found) > 0 {
		return verdict("RemediationStrategy", s.Name, found)
	}
	return serving.Allow(append(beyondPace(&s.Spec, &h.Floors), h.keptWindows(ctx, req, &s)...)...)
}
