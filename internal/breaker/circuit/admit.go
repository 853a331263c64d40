// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// DefaultPermit is how long a plan may probe a half-open breaker when the caller
// names no time.
const DefaultPermit = time.Hour

// Verdict says whether a plan may write, and why.
type Verdict struct {
	// Allowed is whether the breaker lets the plan's writes through. Rollbacks
	// don't ask.
	Allowed bool
	// Reason is the CamelCase reason.
	Reason string
	// Message explains the reason, and says what to do when it isn't allowed.
	Message string
	// Only is the namespace that a refusal concerns alone: writes elsewhere go through.
	// Empty: it concerns all that the breaker covers.
	Only string
}

// Admit tells whether the plan named remediation may write now. The status it
// returns must be persisted before the write whenever it differs from cb's, for
// a half-open breaker gives its one permit in it, until now + permitFor
// (DefaultPermit when that isn't positive). The plan that holds the permit may
// go on until it lapses.
//
// A plan that several breakers cover asks all of them, and persists what they
// return only when all allow it; else a permit is taken and not used.
//
// No breaker (nil: unreadable or not there), one that a person holds open (spec.mode, until
// spec.forcedOpenUntilTime) and one whose status can't be right allow nothing. Only a status with nothing at
// all in it counts as that of a new, closed breaker.
func Admit(
	cb *v1alpha1.RemediationBreaker, remediation string, s v1alpha1.BreakerStrategy, now time.Time,
	permitFor time.Duration,
) (v1alpha1.RemediationBreakerStatus, Verdict) {
	if cb == nil {
		st := Open(v1alpha1.RemediationBreakerStatus{}, v1alpha1.ReasonBreakerUnreadable, messageUnreadable, s, now)
		return st, Verdict{Reason: v1alpha1.ReasonBreakerUnreadable, Message: messageUnreadable}
	}
	st := Tick(cb.Status, s, now)
	if cb.Spec.ForcedOpen(now) {
		return st, Verdict{Reason: v1alpha1.ReasonForcedOpen, Message: messageForced(cb)}
	}
	switch st.State {
	case v1alpha1.BreakerClosed:
		return st, Verdict{Allowed: true, Reason: st.Reason, Message: st.Message}
	case v1alpha1.BreakerHalfOpen:
		return admitProbe(cb.Name, st, remediation, now, permitFor)
	case v1alpha1.BreakerOpen:
	}
	return st, Verdict{Reason: st.Reason, Message: messageRefused(cb.Name, &st), Only: st.OnlyNamespace}
}

func admitProbe(
	breaker string, st v1alpha1.RemediationBreakerStatus, remediation string, now time.Time, permitFor time.Duration,
) (v1alpha1.RemediationBreakerStatus, Verdict) {
	if remediation == "" {
		return st, Verdict{Reason: v1alpha1.ReasonNoRemediation, Message: messageNoRemediation(breaker)}
	}
	if st.Permit == nil {
		if permitFor <= 0 {
			permitFor = DefaultPermit
		}
		st.Permit = &v1alpha1.BreakerPermit{Remediation: remediation, ExpirationTime: *MicroTime(now.Add(permitFor))}
		st.Reason, st.Message = v1alpha1.ReasonProbing, messagePermit(st.Permit, st.HalfOpenSuccesses)
	}
	if st.Permit.Remediation != remediation {
		return st, Verdict{Reason: v1alpha1.ReasonPermitHeld, Message: messageHeld(breaker, st.Permit)}
	}
	return st, Verdict{Allowed: true, Reason: v1alpha1.ReasonPermitGranted, Message: st.Message}
}

// Release gives back the permit of a plan that ended without an outcome: it was
// superseded or aborted, or had nothing to write; or that of one that can't write
// now. Without it nobody else may probe until the permit lapses. Other statuses
// come back as they are.
func Release(st v1alpha1.RemediationBreakerStatus, remediation string) v1alpha1.RemediationBreakerStatus {
	out := *st.DeepCopy()
	if !Holds(st, remediation) {
		return out
	}
	out.Permit = nil
	out.Reason, out.Message = v1alpha1.ReasonProbing, messageProbing(out.HalfOpenSuccesses)
	return out
}

// Holds says whether a plan holds the permit of a half-open breaker.
func Holds(st v1alpha1.RemediationBreakerStatus, remediation string) bool {
	return st.State == v1alpha1.BreakerHalfOpen && st.Permit != nil && st.Permit.Remediation == remediation
}
