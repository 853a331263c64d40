package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// The paths that the webhook server serves.
const (
	PathFail   = "/validate/fail"
	PathIgnore = "/validate/ignore"
	PathPolicy = "/validate/policy"
	// PathException checks exceptions themselves.
	PathException = "/validate/exception"
	// PathApproval checks answers to plans.
	PathApproval = "/validate/approval"
	// PathRecords keeps to the manager what is the manager's.
	PathRecords = "/validate/records"
	// PathStamp fills in who makes a request.
	PathStamp = "/mutate/stamp"
)

// DefaultTimeout is how long the API server waits for an answer.
const DefaultTimeout = 5 * time.Second

// Handler answers admission requests for the policies of one Class. It decodes
// by itself, in one pass, because the decoding of an object costs more than its
// verdict.
type Handler struct {
	// Class is the class of policies that this endpoint judges.
	Class v1alpha1.FailurePolicy
	// Judge returns the policies in force; it is called once a request.
	Judge func() Judge
	// Namespaces finds the namespace of the object.
	Namespaces Namespaces
	// Workloads finds the workload that makes the object.
	Workloads Workloads
	// Timeout is how long the API server waits at most. Zero means DefaultTimeout.
	Timeout time.Duration
	// Self is the user name of the manager, whose rollbacks always pass.
	Self string
	// Docs is where the runbooks of the library's policies are published.
	Docs    policy.Docs
	Metrics *Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// ServeHTTP answers an AdmissionReview. A body that isn't one gets an HTTP error,
// which the API server handles by the webhook's failurePolicy.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.Clock.Now()
	review, err := readReview(w, r)
	if err != nil {
		serveBadReview(w, err)
		h.Metrics.answered(h.endpoint(), nil, decisionBad, h.Clock.Since(start))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), budget(r, h.Timeout))
	defer cancel()
	req := review.request(start)
	req.OwnFix = ownFix(review, h.Self)
	resp, decision := h.answer(ctx, req, ownRollback(review, h.Self))
	h.Metrics.answered(h.endpoint(), req, decision, h.Clock.Since(start))
	if err := writeResponse(w, resp); err != nil {
		h.Log.Error(err, "An admission request stays unanswered", "uid", req.UID)
	}
}

func (h *Handler) answer(ctx context.Context, req *policy.Request, own bool) (response, string) {
	if exemptRequest(req) || own {
		return response{UID: req.UID, Allowed: true}, decisionAllowed
	}
	v := h.judge(ctx, req)
	for i := range v.findings {
		v.findings[i].runbook = h.Docs.Runbook(v.findings[i].runbook)
	}
	h.Metrics.judged(req, v)
	return answer(req, v)
}

func (h *Handler) judge(ctx context.Context, req *policy.Request) *verdict {
	if req.Namespace != "" {
		namespace, err := h.Namespaces.Get(ctx, req.Namespace)
		if err != nil {
			return &verdict{class: h.Class, failed: []failure{{err: err}}}
		}
		req.NamespaceObject = namespace
	}
	return decide(ctx, h.Judge(), h.Class, req, h.Workloads)
}

func (h *Handler) endpoint() string {
	if h.Class == v1alpha1.FailurePolicyFail {
		return "fail"
	}
	return "ignore"
}

// budget is the time to judge in: what the API server allows (it says so in the
// timeout parameter), less a tenth for the way there and back, so that it's
// Evenkeel that says which policy was too slow.
func budget(r *http.Request, limit time.Duration) time.Duration {
	if limit <= 0 {
		limit = DefaultTimeout
	}
	if asked, err := time.ParseDuration(r.URL.Query().Get("timeout")); err == nil && asked > 0 {
		limit = min(limit, asked)
	}
	return limit - limit/10
}

func serveBadReview(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	var bad *badReview
	if errors.As(err, &bad) {
		status = bad.status
	}
	http.Error(w, err.Error(), status)
}
