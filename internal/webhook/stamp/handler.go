// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

const endpoint = "stamp"

// Handler puts the user who makes a request into the field that holds who
// did it: see All. It changes nothing else, and refuses nothing.
type Handler struct {
	serving.Base
}

// ServeHTTP answers the AdmissionReview of an object that holds who did something.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpoint, h.answer)
}

func (h *Handler) answer(_ context.Context, req *policy.Request) serving.Response {
	s, found := stampOf(req.Resource)
	if !found || req.Object == nil || req.SubResource != "" {
		return serving.Allow()
	}
	operations := s.patch(req)
	if len(operations) == 0 {
		return serving.Allow()
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return serving.Deny(serving.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError,
			fmt.Sprintf("encoding who made the request: %v", err)))
	}
	return serving.Response{Allowed: true, Patch: patch, PatchType: serving.PatchTypeJSON}
}

// Missing is the field in which an object doesn't say who makes a request; false when
// it does, or when none is to.
func Missing(req *policy.Request) (field string, yes bool) {
	s, found := stampOf(req.Resource)
	if !found || len(s.patch(req)) == 0 {
		return "", false
	}
	return strings.Join(s.field, "."), true
}

// Refuse refuses a request whose object doesn't say who makes it: the API
// server hasn't asked Handler, or somebody has changed its answer. Nil means
// that the object says so.
func Refuse(req *policy.Request) *metav1.Status {
	field, yes := Missing(req)
	if !yes {
		return nil
	}
	return serving.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
		"%s of %s %s doesn't hold who makes this request, so nothing was changed. The MutatingWebhookConfiguration %s "+
			"fills it in: "+
			"it was just made, or is missing, or another webhook has changed the field. Try again in a moment",
		field, req.Kind.Kind, req.Name, names.Configuration))
}
