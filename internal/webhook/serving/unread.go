// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RetryAfter is when whoever was turned away may try again, in seconds. Clients
// built on client-go do so by themselves.
const RetryAfter = 1

// UnreadStatus is the status of a refusal: try again, or never as it is.
func UnreadStatus(review *Review, message string) *metav1.Status {
	if !review.Unread.Reason.Passing() {
		return Refusal(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, message)
	}
	status := Refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, message)
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: RetryAfter}
	return status
}
