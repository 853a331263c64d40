// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Class is what an API error means for whoever made the call.
type Class int

const (
	// OK: no error.
	OK Class = iota
	// Gone: the API server serves the kind, and has no such object (any more).
	Gone
	// Unserved: the API server doesn't serve the kind or its version now: its CRD or
	// APIService isn't there, yet or any more. That says nothing of an object, and a
	// write that it answers hasn't happened.
	Unserved
	// Conflict: the object has changed since it was read; compute again from
	// fresh state.
	Conflict
	// Invalid: the server understood the request and refuses its content.
	Invalid
	// Forbidden: authorization or admission refuses the request.
	Forbidden
	// Transient: the server may accept the same request later. Whether a write
	// has happened isn't known. A 401 is one too: it is of the whole process, and
	// Credentials tells of it.
	Transient
)

// ConflictBackoff is the wait, after somebody else wrote an object first, until it is
// looked at again.
const ConflictBackoff = 200 * time.Millisecond

// Classify says what an API error means. Errors that it doesn't know are
// Transient: whoever retries must find out first whether a write has happened.
func Classify(err error) Class {
	switch {
	case err == nil:
		return OK
	case meta.IsNoMatchError(err), isMissing(err) && !namesObject(err):
		return Unserved
	case isMissing(err):
		return Gone
	case apierrors.IsConflict(err), isFailedTest(err):
		return Conflict
	case apierrors.IsForbidden(err):
		return Forbidden
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsUnsupportedMediaType(err), apierrors.IsMethodNotSupported(err), apierrors.IsNotAcceptable(err):
		return Invalid
	default:
		return Transient
	}
}

func isMissing(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsGone(err) }

// namesObject says whether an answer was given by somebody who looked for the object,
// and names it. Where no handler serves the kind, the answer is none of Kubernetes's
// (a page that isn't found), and the client fills in what it has asked for.
func namesObject(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name != "" &&
		!slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool {
			return c.Type == metav1.CauseTypeUnexpectedServerResponse
		})
}

// isFailedTest recognizes a JSON Patch that the API server couldn't apply to the
// object as it is now. Whoever sends a patch has applied it to the object as it
// was read, so the object has changed since. The server answers 422 with this
// fixed text and no field errors (apiserver handlers/patch.go, NewGenericServerResponse).
func isFailedTest(err error) bool {
	return apierrors.IsInvalid(err) &&
		strings.Contains(err.Error(), "rejected our request due to an error in our request")
}

// DeniedByAdmission tells an admission denial from a lack of permissions: both are
// 403, but admission names its webhook or policy. A webhook may deny under any other
// code too, such as 404 or 409; by 429 and 503 it asks to be tried again.
func DeniedByAdmission(err error) bool {
	if apierrors.IsNotFound(err) || apierrors.IsGone(err) || apierrors.IsConflict(err) || apierrors.IsBadRequest(err) {
		return strings.Contains(err.Error(), "admission webhook ") &&
			strings.Contains(err.Error(), " denied the request")
	}
	if c := Classify(err); c != Forbidden && c != Invalid && !apierrors.IsInternalError(err) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "admission webhook ") || strings.Contains(text, "ValidatingAdmissionPolicy ")
}

// PutOffByAdmission recognizes a request that a webhook refused with 503, since it couldn't judge it for now: nothing
// was written, and nothing is said of what was asked. A server that can't be reached answers with 503 too, but names no
// webhook that has denied it.
func PutOffByAdmission(err error) bool {
	return apierrors.IsServiceUnavailable(err) && strings.Contains(err.Error(), "admission webhook ") &&
		strings.Contains(err.Error(), " denied the request")
}

// KeptByBudget recognizes an eviction that a PodDisruptionBudget doesn't allow
// now, and says which; the Pod stays. A throttled request is also a 429, but
// names no budget.
func KeptByBudget(err error) (message string, kept bool) {
	var status apierrors.APIStatus
	if !apierrors.IsTooManyRequests(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return "", false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == policyv1.DisruptionBudgetCause {
			return strings.TrimSpace(status.Status().Message + " " + cause.Message), true
		}
	}
	return "", false
}
