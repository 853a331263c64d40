package webhook

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
)

const endpointException = "exception"

// longWaiver is how far ahead an expiry may be without a warning.
const longWaiver = 366 * 24 * time.Hour

// ExceptionHandler refuses exceptions that couldn't work, when they are written,
// and warns of those that are likely a mistake. Who may write one is not its
// matter, but RBAC's.
type ExceptionHandler struct {
	// Reviews reads them, within its bounds.
	Reviews *intake.Reader
	// Namespace is the controller's own: exceptions in it cover any namespace.
	Namespace string
	// Known says that a policy of that name exists.
	Known   func(policyName string) bool
	Metrics *Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// ServeHTTP answers the AdmissionReview of a PolicyException.
func (h *ExceptionHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := ownKind{reviews: h.Reviews, endpoint: endpointException, answer: h.answer, metrics: h.Metrics, clock: h.Clock, log: h.Log}
	own.serve(w, r)
}

func (h *ExceptionHandler) answer(_ context.Context, req *policy.Request) (response, string) {
	resp := response{UID: req.UID, Allowed: true}
	if req.Object == nil || req.SubResource != "" || keepsSpec(req) {
		return resp, decisionAllowed
	}
	var e, old v1alpha1.PolicyException
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Object, &e); err != nil {
		resp.Allowed = false
		resp.Status = refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf("PolicyException %s isn't of the form %s: %v", req.Name, v1alpha1.GroupVersion, err))
		return resp, decisionDenied
	}
	if req.OldObject != nil && runtime.DefaultUnstructuredConverter.FromUnstructured(req.OldObject, &old) != nil {
		old = v1alpha1.PolicyException{} // then all of it counts as changed
	}
	if found := h.check(&e, &old, req.Now); len(found) > 0 {
		resp.Allowed = false
		resp.Status = invalid("PolicyException", e.Namespace+"/"+e.Name, found)
		return resp, decisionDenied
	}
	if resp.Warnings = h.warnings(&e, req.Now); len(resp.Warnings) > 0 {
		return resp, decisionWarned
	}
	return resp, decisionAllowed
}

// check finds what is wrong with an exception beyond what its schema refuses; old
// is zero for a new one.
func (h *ExceptionHandler) check(e, old *v1alpha1.PolicyException, now time.Time) []problem {
	var out problems
	if _, err := match.NewException(e, h.Namespace); err != nil {
		out.addIf(err.Error(), "spec.match")
	}
	if !now.Before(e.Spec.ExpiresAt.Time) && !e.Spec.ExpiresAt.Equal(&old.Spec.ExpiresAt) {
		out.addIf(e.Spec.ExpiresAt.UTC().Format(time.RFC3339)+": it has passed; set a time to come, or delete the exception to end it", "spec.expiresAt")
	}
	return out
}

func (h *ExceptionHandler) warnings(e *v1alpha1.PolicyException, now time.Time) []string {
	var out []string
	if e.Spec.ExpiresAt.Sub(now) > longWaiver {
		out = append(out, "spec.expiresAt is more than a year ahead: a waiver that nobody looks at again is a change of the policy")
	}
	for i, name := range e.Spec.Policies {
		if !h.Known(name) {
			out = append(out, policy.Clip(fmt.Sprintf("spec.policies[%d]: there is no policy %q: nothing is waived until there is", i, name), maxWarningBytes))
		}
	}
	if len(out) > maxWarnings {
		more := len(out) - maxWarnings
		out = append(out[:maxWarnings], fmt.Sprintf("and %d more %s", more, plural("warning", more)))
	}
	return out
}
