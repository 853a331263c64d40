// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
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

func (h *StrategyHandler) answer(ctx context.Context, req *policy.Request) (serving.Response, string) {
	resp := serving.Response{UID: req.UID, Allowed: true}
	if req.Object == nil || req.SubResource != "" {
		return resp, serving.DecisionAllowed
	}
	deny := func(status *metav1.Status) (serving.Response, string) {
		resp.Allowed, resp.Status = false, status
		return resp, serving.DecisionDenied
	}
	if why := stamp.Refuse(req); why != nil {
		return deny(why)
	}
	if keepsSpec(req) {
		return resp, serving.DecisionAllowed
	}
	var s v1alpha1.RemediationStrategy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Object, &s); err != nil {
		return deny(serving.Refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest,
			fmt.Sprintf("RemediationStrategy %s isn't of the form %s: %v", req.Name, v1alpha1.GroupVersion, err)))
	}
	var found problems
	for _, wrong := range strategy.Check(&s) {
		found.addIf(wrong.Message, "spec."+wrong.Field)
	}
	if len(found) > 0 {
		return deny(invalid("RemediationStrategy", s.Name, found))
	}
	if resp.Warnings = append(beyondPace(&s.Spec, &h.Floors), h.keptWindows(ctx, req, &s)...); len(resp.Warnings) > 0 {
		return resp, serving.DecisionWarned
	}
	return resp, serving.DecisionAllowed
}
