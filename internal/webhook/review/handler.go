// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"net/http"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// Handler answers admission requests for the policies of one Class.
type Handler struct {
	serving.Base
	// Class is the class of policies that this endpoint judges.
	Class v1alpha1.FailurePolicy
	// Judge returns the policies in force; it is called once a request.
	Judge func() Judge
	// Namespaces finds the namespace of the object.
	Namespaces Namespaces
	// Workloads finds the workload that makes the object.
	Workloads Workloads
	// Self is the user name of the manager.
	Self string
	// Docs is where the runbooks of the library's policies are published.
	Docs policy.Docs
	// Verdicts counts what the policies find.
	Verdicts *Metrics
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.ServeReview(w, r, h.endpoint(), h.answer)
}

func (h *Handler) answer(ctx context.Context, review *serving.Review) (serving.Response, string) {
	review.OwnFix = ownFix(review, h.Self)
	req := review.Request
	if exempt.Request(req) {
		return serving.Response{UID: req.UID, Allowed: true}, serving.DecisionAllowed
	}
	if review.Unread != nil {
		return h.answerUnread(ctx, review)
	}
	v := h.judge(ctx, req)
	for i := range v.findings {
		v.findings[i].runbook = h.Docs.Runbook(v.findings[i].runbook)
	}
	h.Verdicts.judged(req, v)
	return answer(req, v)
}

func (h *Handler) judge(ctx context.Context, req *policy.Request) *verdict {
	if req.Namespace != "" {
		namespace, err := h.Namespaces.Get(ctx, req.Namespace)
		if err != nil {
			return &verdict{class: h.Class, failed: []failure{{err: &unreadNamespaceError{err}}}}
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
