// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GlobalBreakerName is the name of the breaker that covers every policy.
const GlobalBreakerName = "global"

// PolicyBreakerPrefix begins the name of a policy's breaker.
const PolicyBreakerPrefix = "policy-"

// NamespaceBreakerPrefix begins the name of a namespace's breaker.
const NamespaceBreakerPrefix = "namespace-"

// BreakerState is the state of a circuit breaker.
// +kubebuilder:validation:MaxLength=64
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

// RemediationBreaker stops automated writes of its scope when they do harm.
// spec.mode: ForcedOpen is the kill switch. Its name follows from its scope: global,
// policy-POLICY or namespace-NAMESPACE.
// +kubebuilder:validation:XValidation:rule="self.spec.scope.type == 'Global' ? self.metadata.name == 'global' : self.spec.scope.type == 'Policy' ? !has(self.spec.scope.policy) || self.metadata.name == 'policy-' + self.spec.scope.policy : !has(self.spec.scope.__namespace__) || self.metadata.name == 'namespace-' + self.spec.scope.__namespace__",message="the name must be global, policy-POLICY or namespace-NAMESPACE, by its scope: one under any other name would stop nothing"
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=rembreaker,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope.type`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[?(@.type=="Closed")].reason`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Failures",type=integer,JSONPath=`.status.failures`
// +kubebuilder:printcolumn:name="Next Probe",type=string,JSONPath=`.status.nextProbeTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Policy",type=string,priority=1,JSONPath=`.spec.scope.policy`
// +kubebuilder:printcolumn:name="Namespace",type=string,priority=1,JSONPath=`.spec.scope.namespace`
// +kubebuilder:printcolumn:name="Outcomes",type=integer,priority=1,JSONPath=`.status.outcomes`
// +kubebuilder:printcolumn:name="Demoted",type=date,priority=1,JSONPath=`.status.demoted.startTime`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
type RemediationBreaker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the breaker covers, and whether a person holds it open.
	// +required
	Spec RemediationBreakerSpec `json:"spec"`
	// status is the breaker's state. It can't be recomputed, and is read back.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status RemediationBreakerStatus `json:"status,omitempty"`
}

// RemediationBreakerList is a list of RemediationBreaker objects.
// +kubebuilder:object:root=true
type RemediationBreakerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RemediationBreaker `json:"items"`
}

// BreakerMode says who decides whether a breaker is open.
type BreakerMode string

const (
	// BreakerAutomatic lets the breaker decide, by what it counts.
	BreakerAutomatic BreakerMode = "Automatic"
	// BreakerForcedOpen holds it open, whatever it counts: the kill switch.
	BreakerForcedOpen BreakerMode = "ForcedOpen"
)

// RemediationBreakerSpec says what a breaker covers, and what people ask of it.
// +kubebuilder:validation:XValidation:rule="!has(self.forcedOpenUntilTime) || has(self.mode) && self.mode == 'ForcedOpen'",message="forcedOpenUntilTime is the end of mode ForcedOpen: it needs that mode; remove it (null) with any other"
type RemediationBreakerSpec struct {
	// scope is what the breaker covers. It never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="scope is immutable: make another breaker"
	Scope BreakerScope `json:"scope"`
	// mode is Automatic, or ForcedOpen to hold the breaker open until a person releases
	// it, or until forcedOpenUntilTime: the kill switch. Absent means Automatic. To force it open asks for the verb
	// open on the breaker, to release it for the verb reset.
	// +optional
	// +kubebuilder:validation:Enum=Automatic;ForcedOpen
	Mode BreakerMode `json:"mode,omitempty"`
	// forcedOpenUntilTime is when the breaker ceases by itself to be held open: from then on mode ForcedOpen means
	// Automatic. Absent means that it is held open until a person releases it. It needs mode ForcedOpen. To remove it
	// or to set a later time asks for the verb open on the breaker, to set one or an earlier time for the verb reset.
	// Admission refuses a time that has passed, and removes one that is left where mode becomes Automatic.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9-]{10}T[0-9:]{8}([.][0-9]+)?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$`
	ForcedOpenUntilTime *metav1.Time `json:"forcedOpenUntilTime,omitempty"`
	// resetToken asks, each time that it changes, for the breaker to be closed and to
	// start afresh: nothing counted, no opening remembered, no demotion. Any text will
	// do, a time for example. It asks for the verb reset on the breaker, and for a reason.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ResetToken string `json:"resetToken,omitempty"`
	// reason says why the spec asks for what it asks for. Admission records it with each request; a change of
	// the reason alone is none.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
	// forced is refused by name. It was the kill switch once, and who still asks for it
	// must not get an answer as if it were: an unknown field is dropped before anybody
	// sees it, unless the client asks for strict validation.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="false",message="forced is gone: set spec.mode to ForcedOpen, or to Automatic to let go"
	RemovedForced string `json:"forced,omitempty"`
}

// BreakerScope is what a breaker covers.
// +kubebuilder:validation:XValidation:rule="(self.type == 'Policy') == has(self.policy)",message="policy is required for type Policy, and for no other"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Namespace') == has(self.__namespace__)",message="namespace is required for type Namespace, and for no other"
type BreakerScope struct {
	// type is Global, Policy or Namespace.
	// +required
	Type BreakerScopeType `json:"type"`
	// policy is the name of the policy, for type Policy.
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
