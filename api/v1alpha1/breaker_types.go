package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GlobalBreakerName is the name of the breaker that covers every policy.
const GlobalBreakerName = "global"

// PolicyBreakerPrefix begins the name of a policy's breaker.
const PolicyBreakerPrefix = "policy-"

// BreakerState is the state of a circuit breaker.
// +kubebuilder:validation:Enum=Closed;Open;HalfOpen
type BreakerState string

const (
	// BreakerClosed lets writes through.
	BreakerClosed BreakerState = "Closed"
	// BreakerOpen lets no new write through; rollbacks always pass.
	BreakerOpen BreakerState = "Open"
	// BreakerHalfOpen lets one plan's canary through, under a permit.
	BreakerHalfOpen BreakerState = "HalfOpen"
)

// BreakerScopeType says what a breaker covers.
// +kubebuilder:validation:Enum=Global;Policy
type BreakerScopeType string

const (
	// BreakerScopeGlobal covers every policy.
	BreakerScopeGlobal BreakerScopeType = "Global"
	// BreakerScopePolicy covers one policy.
	BreakerScopePolicy BreakerScopeType = "Policy"
)

// CircuitBreaker stops automated writes of its scope when they do harm.
// spec.forced: Open is the kill switch.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cb,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope.type`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.scope.policy`
// +kubebuilder:printcolumn:name="Forced",type=string,JSONPath=`.spec.forced`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Failures",type=integer,JSONPath=`.status.failures`
// +kubebuilder:printcolumn:name="Outcomes",type=integer,JSONPath=`.status.outcomes`
// +kubebuilder:printcolumn:name="Next Probe",type=string,JSONPath=`.status.nextProbeAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
type CircuitBreaker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the breaker covers, and whether a person holds it open.
	// +required
	Spec CircuitBreakerSpec `json:"spec"`
	// status is the breaker's state. It can't be recomputed, and is read back.
	// +optional
	Status CircuitBreakerStatus `json:"status,omitempty"`
}

// CircuitBreakerList is a list of CircuitBreaker objects.
// +kubebuilder:object:root=true
type CircuitBreakerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CircuitBreaker `json:"items"`
}

// CircuitBreakerSpec says what a breaker covers.
// +kubebuilder:validation:XValidation:rule="!has(self.forced) || self.forced == 'Open'",message="forced can only be Open; remove it to let the breaker decide again"
type CircuitBreakerSpec struct {
	// scope is what the breaker covers. It never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="scope is immutable: make another breaker"
	Scope BreakerScope `json:"scope"`
	// forced holds the breaker open until it is removed: the kill switch.
	// +optional
	Forced BreakerState `json:"forced,omitempty"`
}

// BreakerScope is what a breaker covers.
// +kubebuilder:validation:XValidation:rule="(self.type == 'Policy') == has(self.policy)",message="policy is required for type Policy, and for no other"
type BreakerScope struct {
	// type is Global or Policy.
	// +required
	Type BreakerScopeType `json:"type"`
	// policy is the name of the Policy, for type Policy.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Policy string `json:"policy,omitempty"`
}

// CircuitBreakerStatus is the state of a breaker.
type CircuitBreakerStatus struct {
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
	// openedAt is when the breaker last opened.
	// +optional
	OpenedAt *metav1.MicroTime `json:"openedAt,omitempty"`
	// nextProbeAt is when an open breaker turns half-open.
	// +optional
	NextProbeAt *metav1.MicroTime `json:"nextProbeAt,omitempty"`
	// openings counts the openings since the breaker was last closed by
	// successes; each doubles the cooldown.
	// +optional
	Openings int32 `json:"openings,omitempty"`
	// consecutiveFailures counts the failures since the last success.
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
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
	// conditions holds Ready: true while the breaker is closed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BreakerBucket counts the outcomes of one part of the window.
type BreakerBucket struct {
	// start is when the bucket begins.
	// +required
	Start metav1.MicroTime `json:"start"`
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
	// expiresAt is when the permit lapses; the breaker opens again then.
	// +required
	ExpiresAt metav1.MicroTime `json:"expiresAt"`
}
