package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GlobalBreakerName is the name of the breaker that covers every policy.
const GlobalBreakerName = "global"

// PolicyBreakerPrefix begins the name of a policy's breaker.
const PolicyBreakerPrefix = "policy-"

// NamespaceBreakerPrefix begins the name of a namespace's breaker.
const NamespaceBreakerPrefix = "namespace-"

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
// +kubebuilder:validation:Enum=Global;Policy;Namespace
type BreakerScopeType string

const (
	// BreakerScopeGlobal covers every policy.
	BreakerScopeGlobal BreakerScopeType = "Global"
	// BreakerScopePolicy covers one policy.
	BreakerScopePolicy BreakerScopeType = "Policy"
	// BreakerScopeNamespace covers the targets of every policy in one namespace.
	BreakerScopeNamespace BreakerScopeType = "Namespace"
)

// CircuitBreaker stops automated writes of its scope when they do harm.
// spec.forced: Open is the kill switch. Its name follows from its scope: global,
// policy-POLICY or namespace-NAMESPACE.
// +kubebuilder:validation:XValidation:rule="self.spec.scope.type == 'Global' ? self.metadata.name == 'global' : self.spec.scope.type == 'Policy' ? !has(self.spec.scope.policy) || self.metadata.name == 'policy-' + self.spec.scope.policy : !has(self.spec.scope.__namespace__) || self.metadata.name == 'namespace-' + self.spec.scope.__namespace__",message="the name must be global, policy-POLICY or namespace-NAMESPACE, by its scope: one under any other name would stop nothing"
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cb,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope.type`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.scope.policy`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.scope.namespace`
// +kubebuilder:printcolumn:name="Forced",type=string,JSONPath=`.spec.forced`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Failures",type=integer,JSONPath=`.status.failures`
// +kubebuilder:printcolumn:name="Outcomes",type=integer,JSONPath=`.status.outcomes`
// +kubebuilder:printcolumn:name="Next Probe",type=string,JSONPath=`.status.nextProbeAt`
// +kubebuilder:printcolumn:name="Demoted",type=date,JSONPath=`.status.demoted.at`
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
	// reset asks for the breaker to be closed and to start afresh.
	// +optional
	Reset *BreakerReset `json:"reset,omitempty"`
}

// BreakerReset is a person's word that a breaker is to start afresh: closed, with
// nothing counted, no opening remembered and no demotion.
type BreakerReset struct {
	// count tells this reset from the one before: a breaker is reset when count is
	// larger than status.resets. Add one to status.resets to ask for a reset.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// reason says why writing may go on. It is kept in status.lastReset.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
	// requestedBy is the user who asked. Admission sets it; what a request itself
	// says is replaced.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RequestedBy string `json:"requestedBy,omitempty"`
}

// BreakerScope is what a breaker covers.
// +kubebuilder:validation:XValidation:rule="(self.type == 'Policy') == has(self.policy)",message="policy is required for type Policy, and for no other"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Namespace') == has(self.__namespace__)",message="namespace is required for type Namespace, and for no other"
type BreakerScope struct {
	// type is Global, Policy or Namespace.
	// +required
	Type BreakerScopeType `json:"type"`
	// policy is the name of the Policy, for type Policy.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Policy string `json:"policy,omitempty"`
	// namespace is the name of the Namespace, for type Namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}
