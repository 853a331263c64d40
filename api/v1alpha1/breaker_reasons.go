// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a RemediationBreaker's state.
const (
	// ReasonWithinLimits: closed, and too few failures to open.
	ReasonWithinLimits = "WithinLimits"
	// ReasonRecovered: closed again, for the probes succeeded.
	ReasonRecovered = "Recovered"
	// ReasonCanaryFailed: opened by a failed canary.
	ReasonCanaryFailed = "CanaryFailed"
	// ReasonConsecutiveFailures: opened by failures in a row.
	ReasonConsecutiveFailures = "ConsecutiveFailures"
	// ReasonFailurePercent: opened by the share of failures in the window.
	ReasonFailurePercent = "FailurePercent"
	// ReasonPolicyBreakersOpen: the global breaker, opened because several
	// policies' breakers are.
	ReasonPolicyBreakersOpen = "PolicyBreakersOpen"
	// ReasonStorm: opened because many objects began to violate the policy at once.
	ReasonStorm = "Storm"
	// ReasonSLOBurn: opened because an error budget burns too fast.
	ReasonSLOBurn = "SLOBurn"
	// ReasonReset: closed by a person.
	ReasonReset = "Reset"
	// ReasonProbing: half-open; one plan is let through, or is under way.
	ReasonProbing = "Probing"
	// ReasonProbeFailed: opened again by a failure while half-open.
	ReasonProbeFailed = "ProbeFailed"
	// ReasonPermitLapsed: half-open still; the probe didn't end in time, and another
	// plan may take the permit.
	ReasonPermitLapsed = "PermitLapsed"
	// ReasonClockWentBack: open still or again, for the clock went back to before
	// nextProbeTime, or far behind the opening.
	ReasonClockWentBack = "ClockWentBack"
	// ReasonForgotten: closed because what it covered is gone.
	ReasonForgotten = "Forgotten"
	// ReasonInconsistentState: opened because its status can't be right.
	ReasonInconsistentState = "InconsistentState"
	// ReasonBreakerUnreadable: the breaker couldn't be read, or isn't there.
	ReasonBreakerUnreadable = "BreakerUnreadable"
	// ReasonPermitGranted: the plan holds the half-open breaker's permit.
	ReasonPermitGranted = "PermitGranted"
	// ReasonPermitHeld: another plan holds it.
	ReasonPermitHeld = "PermitHeld"
	// ReasonNoRemediation: a permit needs a plan's name.
	ReasonNoRemediation = "NoRemediation"
)
