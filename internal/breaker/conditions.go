// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// seenBreaker is a breaker whose status speaks of the generation that was acted upon: a
// plan that counts an outcome leaves what people ask of the breaker to its controller.
type seenBreaker struct {
	*v1alpha1.RemediationBreaker
	now time.Time
}

// GetGeneration is the generation that the status speaks of.
func (b seenBreaker) GetGeneration() int64 {
	token := b.Spec.ResetToken
	if b.Status.Mode == modeOf(b.RemediationBreaker, b.now) &&
		(token == "" || token == b.Status.LastHandledResetToken) {
		return b.Generation
	}
	return b.Status.ObservedGeneration
}

// breakerConditions are Ready, Closed and Demoted. An open breaker does what its spec asks
// for, and so does one that a person holds open: it is ready, and not closed. Neither needs
// a person to end, and whoever applies breakers from Git mustn't wait for it.
func breakerConditions(cb *v1alpha1.RemediationBreaker, now time.Time) []metav1.Condition {
	hold := kube.Ready(v1alpha1.ReasonWatching, "the breaker does what its spec asks for")
	closed := kube.ConditionTrue(v1alpha1.ConditionClosed, v1alpha1.ReasonClosed, cb.Status.Message)
	switch {
	case cb.Spec.ForcedOpen(now):
		closed = kube.ConditionFalse(v1alpha1.ConditionClosed, v1alpha1.ReasonOpen,
			fmt.Sprintf("a person holds the breaker open%s (%s); to release it: evenkeel breaker close %s",
				v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime), cb.ForcedBy(), cb.Name))
	case cb.Status.State == v1alpha1.BreakerHalfOpen:
		closed = kube.ConditionFalse(v1alpha1.ConditionClosed, v1alpha1.ReasonHalfOpen, cb.Status.Message)
	case cb.Status.State == v1alpha1.BreakerOpen:
		closed = kube.ConditionFalse(v1alpha1.ConditionClosed, v1alpha1.ReasonOpen, cb.Status.Message)
	}
	hold = append(hold, closed)
	if cb.Status.Demoted != nil {
		hold = append(hold, kube.ConditionTrue(v1alpha1.ConditionDemoted, v1alpha1.ReasonDemoted,
			cb.Status.Demoted.Message))
	}
	return hold
}
