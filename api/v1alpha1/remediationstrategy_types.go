// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RemediationStrategy says how violations are remediated, for all policies whose
// remediation.strategyRef names it. The one named default is also for all policies that name
// none. Whether they are, and by which verbs, each policy says itself.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=remstrategy,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Steps",type=string,JSONPath=`.status.inForce.steps`
// +kubebuilder:printcolumn:name="Soak",type=string,JSONPath=`.status.inForce.soak`
// +kubebuilder:printcolumn:name="On-Failure",type=string,JSONPath=`.status.inForce.onFailure`
// +kubebuilder:printcolumn:name="Policies",type=integer,JSONPath=`.status.policies`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type RemediationStrategy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the strategy. Absent fields mean their defaults.
	// +required
	Spec RemediationStrategySpec `json:"spec"`
	// status is what the controller observes. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status RemediationStrategyStatus `json:"status,omitempty"`
}

// RemediationStrategyList is a list of RemediationStrategy objects.
// +kubebuilder:object:root=true
type RemediationStrategyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RemediationStrategy `json:"items"`
}

// RemediationStrategyStatus is what the controller observes of a RemediationStrategy.
type RemediationStrategyStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// policies is the number of policies that follow it, also of those whose mode is
	// Disabled.
	// +optional
	Policies int32 `json:"policies"`
	// inForce is what a plan that is made now would be rolled out by, with defaults.
	// Neither a policy's mode nor the administrator's limits are in it.
	// +optional
	InForce *StrategyInForce `json:"inForce,omitempty"`
	// conditions are Ready, and Reconciling and Stalled while they are True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StrategyInForce is a strategy with its defaults, so that nobody needs to know them who
// reads a table.
type StrategyInForce struct {
	// steps are the targets of the steps, for example 1, 5%, 25%, 100%.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Steps string `json:"steps"`
	// soak is how long each step must stay verified, for example 10m0s, 1m0s, 1m0s, 1m0s.
	// +required
	// +kubebuilder:validation:MaxLength=768
	Soak string `json:"soak"`
	// onFailure says what happens when a wave fails its verification.
	// +required
	// +kubebuilder:validation:MaxLength=64
	OnFailure FailureAction `json:"onFailure"`
}

// PlannedStrategy names a RemediationStrategy at one generation, with those who answer for
// what it says.
type PlannedStrategy struct {
	// name is the RemediationStrategy.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid is its UID.
	// +required
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
	// generation is its generation.
	// +required
	Generation int64 `json:"generation"`
	// author is the user who had last changed its spec; empty when that wasn't recorded.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Author string `json:"author,omitempty"`
	// authors are all users who had changed its spec since it was made, as far as
	// admission has recorded them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Authors []string `json:"authors,omitempty"`
}
