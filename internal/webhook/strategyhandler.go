package webhook

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
)

const endpointStrategy = "strategy"

// StrategyHandler refuses a RemediationStrategy that couldn't be followed, when it is
// written, by the judge that also judges what a policy says itself.
type StrategyHandler struct {
	// Reviews reads them, within its bounds.
	Reviews *intake.Reader
	// Floors is how careful every strategy must be at the least.
	Floors  limits.Floors
	Metrics *Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// ServeHTTP answers the AdmissionReview of a RemediationStrategy.
func (h *StrategyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := ownKind{reviews: h.Reviews, endpoint: endpointStrategy, answer: h.answer, metrics: h.Metrics, clock: h.Clock, log: h.Log}
	own.serve(w, r)
}

func (h *StrategyHandler) answer(_ context.Context, req *policy.Request) (response, string) {
	resp := response{UID: req.UID, Allowed: true}
	if req.Object == nil || req.SubResource != "" {
		return resp, decisionAllowed
	}
	deny := func(status *metav1.Status) (response, string) {
		resp.Allowed, resp.Status = false, status
		return resp, decisionDenied
	}
	if why := unstamped(req); why != nil {
		return deny(why)
	}
	if keepsSpec(req) {
		return resp, decisionAllowed
	}
	var s v1alpha1.RemediationStrategy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Object, &s); err != nil {
		return deny(refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf("RemediationStrategy %s isn't of the form %s: %v", req.Name, v1alpha1.GroupVersion, err)))
	}
	var found problems
	for _, wrong := range strategy.Check(&s) {
		found.addIf(wrong.Message, "spec."+wrong.Field)
	}
	if len(found) > 0 {
		return deny(invalid("RemediationStrategy", s.Name, found))
	}
	if resp.Warnings = beyondPace(&s.Spec, &h.Floors); len(resp.Warnings) > 0 {
		return resp, decisionWarned
	}
	return resp, decisionAllowed
}
