// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
)

const endpointRecords = "records"

// RecordsHandler checks what people ask of plans and breakers. The API server doesn't ask about the
// manager's own requests, and its policy evenkeel-records keeps all else to the manager.
type RecordsHandler struct {
	serving.Base
	// Reader reads policies and strategies past every cache.
	Reader client.Reader
	// Approvers is what the cluster's administrator requires of approvers.
	Approvers canary.Approvers
}

// ServeHTTP answers the AdmissionReview of somebody else's write.
func (h *RecordsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointRecords, h.answer)
}

func (h *RecordsHandler) answer(ctx context.Context, req *policy.Request) serving.Response {
	why := notTheirRequest(req)
	if why == "" {
		refused, err := h.approval(ctx, req)
		if err != nil {
			return serving.Deny(serving.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError,
				fmt.Sprintf("Remediation %s: its answer can't be checked, so nothing was changed; try again: %v",
					req.Name, err)))
		}
		why = refused.Message
	}
	if why == "" {
		return serving.Allow()
	}
	h.Log.Info("A request of a plan or a breaker is refused", "kind", req.Kind.Kind, "name", req.Name, "user",
		req.UserInfo.Username, "operation", req.Operation)
	return serving.Deny(serving.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden,
		fmt.Sprintf("%s %s: %s; nothing was changed", req.Kind.Kind, req.Name, why)))
}

// approval refuses an answer to a plan that couldn't count. Whoever answers learns so at once.
func (h *RecordsHandler) approval(ctx context.Context, r *policy.Request) (canary.Refusal, error) {
	_, approves := stamp.Asks(r, v1alpha1.ActionApprove)
	if _, rejects := stamp.Asks(r, v1alpha1.ActionReject); !approves && !rejects {
		return canary.Refusal{}, nil
	}
	plan := &v1alpha1.Remediation{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object, plan); err != nil {
		return canary.Refusal{}, err
	}
	of, err := catalog.Asked(ctx, h.Reader, plan)
	if err != nil {
		return canary.Refusal{}, err
	}
	if refused := canary.Refuse(plan, r.UserInfo.Username, of, h.Approvers); refused != (canary.Refusal{}) {
		return refused, nil
	}
	return canary.RefuseProposal(plan, plan.Status.ProposalDigest), nil
}

func notTheirRequest(r *policy.Request) string {
	if field, yes := stamp.Missing(r); yes {
		return fmt.Sprintf("%s doesn't hold who makes this request. The MutatingWebhookConfiguration %s fills it in: "+
			"try again in a moment", field, names.Configuration)
	}
	if end, passed := stamp.Passed(r); passed {
		return fmt.Sprintf("the end that it names, %s, has passed, so that nothing would be held: set a time to come, "+
			"or none, to hold it until a person lets it go on", end.UTC().Format(time.RFC3339))
	}
	if reason, asks := stamp.Asks(r, v1alpha1.ActionReset); asks && reason == "" {
		return "a reset needs a reason: set spec.reason in the same request, or use evenkeel breaker reset --reason"
	}
	return ""
}
