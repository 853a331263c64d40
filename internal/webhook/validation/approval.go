// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
)

const endpointApproval = "approval"

// ApprovalHandler refuses answers to plans that couldn't count, when they are
// given, so that whoever answers learns at once. Who may answer at all is not its
// matter, but RBAC's.
type ApprovalHandler struct {
	serving.Base
	// Reader reads plans and policies anew, past every cache.
	Reader client.Reader
	// Approvers is what the cluster's administrator asks of whoever answers.
	Approvers canary.Approvers
	// Timeout is how long the API server waits at most. Zero means DefaultTimeout.
	Timeout time.Duration
}

func (h *ApprovalHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), serving.Budget(r, h.Timeout))
	defer cancel()
	h.Serve(w, r.WithContext(ctx), endpointApproval, h.answer)
}

func (h *ApprovalHandler) answer(ctx context.Context, req *policy.Request) (serving.Response, string) {
	resp := serving.Response{UID: req.UID, Allowed: true}
	if req.Operation != policy.Create || req.Object == nil || req.SubResource != "" {
		return resp, serving.DecisionAllowed
	}
	deny := func(status *metav1.Status) (serving.Response, string) {
		resp.Allowed, resp.Status = false, status
		return resp, serving.DecisionDenied
	}
	if why := stamp.Refuse(req); why != nil {
		return deny(why)
	}
	var a v1alpha1.RemediationApproval
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Object, &a); err != nil {
		return deny(serving.Refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest,
			fmt.Sprintf("RemediationApproval %s isn't of the form %s: %v", req.Name, v1alpha1.GroupVersion, err)))
	}
	refused, err := h.judge(ctx, &a)
	if err != nil {
		resp.Allowed = false
		resp.Status = serving.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError,
			fmt.Sprintf("RemediationApproval %s can't be checked, so nothing was changed; try again: %v", a.Name, err))
		return resp, serving.DecisionErrored
	}
	if refused != (canary.Refusal{}) {
		return deny(invalid("RemediationApproval", a.Name,
			[]problem{{at: refused.Field, field: refused.Field, message: refused.Message}}))
	}
	return resp, serving.DecisionAllowed
}

func (h *ApprovalHandler) judge(ctx context.Context, a *v1alpha1.RemediationApproval) (canary.Refusal, error) {
	plan := &v1alpha1.Remediation{}
	if err := h.Reader.Get(ctx, client.ObjectKey{Name: a.Spec.RemediationRef.Name}, plan); apierrors.IsNotFound(err) {
		return canary.Refuse(a, nil, canary.Asked{}, h.Approvers), nil
	} else if err != nil {
		return canary.Refusal{}, fmt.Errorf("reading Remediation %s: %w", a.Spec.RemediationRef.Name, err)
	}
	of, err := catalog.Asked(ctx, h.Reader, plan)
	if err != nil {
		return canary.Refusal{}, err
	}
	return canary.Refuse(a, plan, of, h.Approvers), nil
}
