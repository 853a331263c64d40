// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RemediationBreakerStatus is the state of a breaker.
type RemediationBreakerStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// state is Closed, Open or HalfOpen.
	// +optional
	State BreakerState `json:"state,omitempty"`
	// reason is the CamelCase reason of the state.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message explains the reason and says what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// openedTime is when the breaker last opened.
	// +optional
	OpenedTime *metav1.MicroTime `json:"openedTime,omitempty"`
	// nextProbeTime is when an open breaker turns half-open.
	// +optional
	NextProbeTime *metav1.MicroTime `json:"nextProbeTime,omitempty"`
	// onlyNamespace is the namespace that an open breaker of a policy keeps back, when
	// all that opened it happened there: targets in other namespaces go on. Absent: it
	// keeps back everything that it covers.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	OnlyNamespace string `json:"onlyNamespace,omitempty"`
	// openings counts the openings since the breaker was last closed by
	// successes; each doubles the cooldown.
	// +optional
	Openings int32 `json:"openings,omitempty"`
	// consecutiveFailures counts the failures since the last success.
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// failingPolicies are the policies whose targets failed in the window or since
	// the last success, in a breaker that several policies share: it opens only for
	// failures of more than one. Only the latest eight are kept.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	FailingPolicies []FailingPolicy `json:"failingPolicies,omitempty"`
	// failingNamespaces are the namespaces in which targets failed in the window,
	// since the last success or, while the breaker isn't closed, before, in the
	// global breaker and in those of policies: the global one opens only for
	// failures in more than one. Only the latest eight are kept.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	FailingNamespaces []FailingNamespace `json:"failingNamespaces,omitempty"`
	// failures is the number of failures in the window.
	// +optional
	Failures int32 `json:"failures"`
	// outcomes is the number of outcomes in the window.
	// +optional
	Outcomes int32 `json:"outcomes"`
	// buckets hold the window's outcomes, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=6
	Buckets []BreakerBucket `json:"buckets,omitempty"`
	// permit is the one plan that a half-open breaker lets through.
	// +optional
	Permit *BreakerPermit `json:"permit,omitempty"`
	// halfOpenSuccesses counts the plans that succeeded while half-open; two
	// close the breaker.
	// +optional
	HalfOpenSuccesses int32 `json:"halfOpenSuccesses,omitempty"`
	// recorded holds the keys of the latest outcomes counted, so that none is
	// counted twice after a crash.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	Recorded []string `json:"recorded,omitempty"`
	// lastOutcomeTime is when the latest outcome of a target was counted.
	// +optional
	LastOutcomeTime *metav1.MicroTime `json:"lastOutcomeTime,omitempty"`
	// recentOpeningTimes are the times of the latest openings within 24 hours, oldest
	// first; three demote the policy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	RecentOpeningTimes []metav1.MicroTime `json:"recentOpeningTimes,omitempty"`
	// demoted says since when, and why, only dry runs are made for the policy.
	// +optional
	Demoted *BreakerDemotion `json:"demoted,omitempty"`
	// storm holds the counts of the policy's violating objects in the window.
	// +optional
	Storm *BreakerStorm `json:"storm,omitempty"`
	// slo is the latest answer of the service level objective's query.
	// +optional
	SLO *BreakerSLO `json:"slo,omitempty"`
	// mode is the value of spec.mode that was last acted upon.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Mode BreakerMode `json:"mode,omitempty"`
	// lastHandledResetToken is the spec.resetToken that was acted upon.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LastHandledResetToken string `json:"lastHandledResetToken,omitempty"`
	// lastReset is the latest reset by a person.
	// +optional
	LastReset *BreakerResetRecord `json:"lastReset,omitempty"`
	// conditions are Ready (True: the breaker does what its spec asks for, open or closed),
	// Closed (True: writes go through) and Demoted.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FailingPolicy is a policy of which a shared breaker has counted a failure.
type FailingPolicy struct {
	// policy is its name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Policy string `json:"policy"`
	// lastFailedTime is when its latest failure was counted.
	// +required
	LastFailedTime metav1.MicroTime `json:"lastFailedTime"`
	// inRow says that it failed since the latest success of any policy.
	// +optional
	InRow bool `json:"inRow,omitempty"`
}

// FailingNamespace is a namespace in which a breaker has counted a failure.
type FailingNamespace struct {
	// namespace is its name; empty stands for all objects of cluster scope.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// lastFailedTime is when its latest failure was counted.
	// +required
	LastFailedTime metav1.MicroTime `json:"lastFailedTime"`
	// inRow says that it failed since the latest success in any namespace.
	// +optional
	InRow bool `json:"inRow,omitempty"`
}

// BreakerBucket counts the outcomes of one part of the window.
type BreakerBucket struct {
	// startTime is when the bucket begins.
	// +required
	StartTime metav1.MicroTime `json:"startTime"`
	// successes in this bucket.
	// +optional
	Successes int32 `json:"successes"`
	// failures in this bucket.
	// +optional
	Failures int32 `json:"failures"`
}

// BreakerPermit lets one plan through a half-open breaker.
type BreakerPermit struct {
	// remediation is the plan.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Remediation string `json:"remediation"`
	// expirationTime is when the permit lapses; another plan may take it then.
	// +required
	ExpirationTime metav1.MicroTime `json:"expirationTime"`
}

// BreakerDemotion says that a policy's breaker opened too often: only dry runs
// are made until the policy's revision changes or a person resets the breaker.
type BreakerDemotion struct {
	// startTime is when the policy was demoted.
	// +required
	StartTime metav1.MicroTime `json:"startTime"`
	// revision is the policy's revision that was demoted; another one ends it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
	// message says why, and how it ends.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// BreakerStorm is how many objects have violated a policy's revision recently.
type BreakerStorm struct {
	// revision is the policy's revision that the counts speak of.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// violating is the latest number of violating objects, waived ones included.
	// +required
	Violating int32 `json:"violating"`
	// sampledTime is since when it has been counted so.
	// +required
	SampledTime metav1.MicroTime `json:"sampledTime"`
	// namespaces are those that held the most of violating, the most first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Namespaces []ViolatingNamespace `json:"namespaces,omitempty"`
	// buckets hold the least number in each part of the window, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=6
	Buckets []BreakerStormBucket `json:"buckets,omitempty"`
}

// BreakerStormBucket is the least number of violating objects in a part of the window.
type BreakerStormBucket struct {
	// startTime is when the bucket begins.
	// +required
	StartTime metav1.MicroTime `json:"startTime"`
	// least is the least number of violating objects in it.
	// +required
	Least int32 `json:"least"`
	// namespaces are those that held the most of them, the most first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Namespaces []ViolatingNamespace `json:"namespaces,omitempty"`
}

// ViolatingNamespace is how many objects of a namespace violate a policy.
type ViolatingNamespace struct {
	// namespace is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// violating is the number of its objects that violate the policy.
	// +required
	// +kubebuilder:validation:Minimum=0
	Violating int32 `json:"violating"`
}

// SLOVerdict is what a service level objective says of automated writes.
// +kubebuilder:validation:MaxLength=64
type SLOVerdict string

const (
	// SLOWithin: at most half of the error budget was spent in the last hour.
	SLOWithin SLOVerdict = "Within"
	// SLOBurning: more than half of the error budget was spent in the last hour.
	SLOBurning SLOVerdict = "Burning"
	// SLOUnknown: the query gave no usable answer, which is never a yes.
	SLOUnknown SLOVerdict = "Unknown"
)

// BreakerSLO is the latest answer of a service level objective's query.
type BreakerSLO struct {
	// sampledTime is when the query was asked.
	// +required
	SampledTime metav1.MicroTime `json:"sampledTime"`
	// ratio is the error ratio over the last hour, as a decimal number.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Ratio string `json:"ratio,omitempty"`
	// spent is the share of the error budget of the whole period that the last
	// hour has spent, as a decimal number; more than 0.5 opens the breaker.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Spent string `json:"spent,omitempty"`
	// verdict is Within, Burning or Unknown.
	// +required
	Verdict SLOVerdict `json:"verdict"`
	// message explains the verdict.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// BreakerResetRecord is a reset that was carried out.
type BreakerResetRecord struct {
	// by is the user who asked, as admission has seen them.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by"`
	// resetTime is when the breaker was reset.
	// +required
	ResetTime metav1.MicroTime `json:"resetTime"`
	// reason is what they gave as the reason.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
}

// MaxBreakerBuckets is the number of buckets of a breaker's window, as the schema bounds it.
const MaxBreakerBuckets = 6
