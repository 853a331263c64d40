// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// blamed is the namespace in which alone that happened which opens a policy's breaker:
// it then keeps back that namespace, and no other. Empty: it keeps back all.
func blamed(st *v1alpha1.RemediationBreakerStatus, e Event, reason string, l limits, now time.Time) string {
	if e.shared {
		return "" // what several policies share has its own count of who failed, and where
	}
	switch reason {
	case v1alpha1.ReasonConsecutiveFailures:
		return alone(st.FailingNamespaces, func(f v1alpha1.FailingNamespace) bool { return f.InRow })
	case v1alpha1.ReasonFailurePercent:
		return alone(st.FailingNamespaces, func(f v1alpha1.FailingNamespace) bool {
			return inWindow(f.LastFailedTime, l, now)
		})
	case v1alpha1.ReasonCanaryFailed, v1alpha1.ReasonProbeFailed:
		if len(e.Namespaces) == 1 {
			return e.Namespaces[0]
		}
	}
	return ""
}

// alone is the only namespace of those that count; empty when there are several, or
// when it is cluster scope.
func alone(list []v1alpha1.FailingNamespace, counts func(v1alpha1.FailingNamespace) bool) string {
	only, n := "", 0
	for _, f := range list {
		if counts(f) {
			only = f.Namespace
			n++
		}
	}
	if n != 1 {
		return ""
	}
	return only
}

// opensAll says whether a breaker that is open keeps back all that it covers.
func opensAll(st *v1alpha1.RemediationBreakerStatus) bool {
	return st.State == v1alpha1.BreakerOpen && st.OnlyNamespace == ""
}

// widen opens for all a breaker that keeps back one namespace, when there is reason to
// open it and that lies elsewhere, too.
func widen(st *v1alpha1.RemediationBreakerStatus, e Event, l limits, now time.Time) {
	if opensAll(st) {
		return
	}
	reason, why := tripped(st, e, l, now)
	if reason != "" && blamed(st, e, reason, l, now) != st.OnlyNamespace {
		trip(st, reason, why, "", l, now)
	}
}

// probeFailed is what a failure means to a half-open breaker. Whoever edits one
// namespace can make any probe fail there: a policy's breaker opens for that namespace,
// and for all when it was another that opened it. The global one opens again when
// probes have failed in two, or in cluster scope.
func probeFailed(st *v1alpha1.RemediationBreakerStatus, e Event, l limits, now time.Time) {
	if e.global && len(e.Namespaces) > 0 && !enoughInRow(st, Event{global: true}) {
		if e.Type == PlanFailed && st.Permit != nil && st.Permit.Remediation == e.Remediation {
			st.Permit = nil
			st.Reason, st.Message = v1alpha1.ReasonProbing, messageProbing(st.HalfOpenSuccesses)
		}
		return
	}
	only := blamed(st, e, v1alpha1.ReasonProbeFailed, l, now)
	if st.OnlyNamespace != "" && st.OnlyNamespace != only {
		only = ""
	}
	trip(st, v1alpha1.ReasonProbeFailed, messageProbeFailed(e), only, l, now)
}
