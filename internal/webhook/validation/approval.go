// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
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
}

func (h *ApprovalHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointApproval, h.answer)
}

func (h *ApprovalHandler) answer(ctx context.Context, req *policy.Request) serving.Response {
	if req.Operation != policy.Create {
		return serving.Allow()
	}
	var a v1alpha1.RemediationApproval
	if resp, done := read(req, &a); done {
		return resp
	}
	refused, err := h.judge(ctx, &a)
	if err != nil {
		return serving.Deny(serving.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError,
			fmt.Sprintf("RemediationApproval %s can't be checked, so nothing was changed; try again: %v", a.Name, err)))
	}
	var found problems
	found.addIf(refused.Message, refused.Field)
	return verdict("RemediationApproval", a.Name, found)
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
