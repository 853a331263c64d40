// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Response is the answer to a review (AdmissionResponse of admission.k8s.io/v1).
type Response struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Status           *metav1.Status    `json:"status,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	// Patch changes the object, in the form that PatchType names.
	Patch     []byte `json:"patch,omitempty"`
	PatchType string `json:"patchType,omitempty"`
}

// PatchTypeJSON is a JSON Patch (RFC 6902), the only form there is.
const PatchTypeJSON = "JSONPatch"

type responseReview struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   Response `json:"response"`
}

// Allow is the answer to a request of Evenkeel's own kinds that may go on.
func Allow(warnings ...string) Response { return Response{Allowed: true, Warnings: warnings} }

// Deny is the answer to one that may not.
func Deny(status *metav1.Status) Response { return Response{Status: status} }

func (r *Response) decision() string {
	switch {
	case r.Allowed && len(r.Warnings) > 0:
		return DecisionWarned
	case r.Allowed:
		return DecisionAllowed
	case r.Status.Code == http.StatusInternalServerError:
		return DecisionErrored
	}
	return DecisionDenied
}

// Write sends an answer.
func Write(w http.ResponseWriter, resp Response) error {
	body, err := json.Marshal(responseReview{APIVersion: APIVersion, Kind: Kind, Response: resp})
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// Refusal is the status of what is refused.
func Refusal(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}

// ServeMalformed answers what isn't a review. The API server handles an HTTP error
// by the webhook's failurePolicy, so nothing that tells who asks about what may be
// answered with one.
func ServeMalformed(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	var refused *Refused
	if errors.As(err, &refused) {
		status = refused.Status
	}
	http.Error(w, err.Error(), status)
}
