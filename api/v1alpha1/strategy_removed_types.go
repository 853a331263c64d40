// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Settings of a rollout that a policy or strategy had once are refused by name. The API server drops an unknown
// field, unless the client asks for strict validation: who still sets one would silently get the defaults.

// RemovedFromPolicy are fields that RemediationStrategy has now. Those that are left out do less harm: their
// defaults are careful.
type RemovedFromPolicy struct {
	// canary is refused by name.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="canary is gone from policies: set steps[0] of the RemediationStrategy that strategyRef names"
	RemovedCanary *apiextensionsv1.JSON `json:"canary,omitempty"`
	// waves is refused by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:XValidation:rule="false",message="waves is gone from policies: set steps of the RemediationStrategy that strategyRef names"
	RemovedWaves []intstr.IntOrString `json:"waves,omitempty"`
	// soak is refused by name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="false",message="soak is gone from policies: set soak in the steps of the RemediationStrategy that strategyRef names"
	RemovedSoak string `json:"soak,omitempty"`
	// maxInFlight is refused by name.
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="maxInFlight is gone from policies: set maxInFlight of the RemediationStrategy that strategyRef names"
	RemovedMaxInFlight int32 `json:"maxInFlight,omitempty"`
	// budget is refused by name.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="budget is gone from policies: set maxInFlight, maxPerNamespace and maxTargets of the RemediationStrategy that strategyRef names"
	RemovedBudget *apiextensionsv1.JSON `json:"budget,omitempty"`
	// windows is refused by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:Type=object
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="windows is gone from policies: set windows of the RemediationStrategy that strategyRef names"
	RemovedWindows []apiextensionsv1.JSON `json:"windows,omitempty"`
	// analysis is refused by name.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="analysis is gone from policies: set analysis of the RemediationStrategy that strategyRef names"
	RemovedAnalysis *apiextensionsv1.JSON `json:"analysis,omitempty"`
	// approval is refused by name.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="approval is gone from policies: set approval of the RemediationStrategy that strategyRef names"
	RemovedApproval *apiextensionsv1.JSON `json:"approval,omitempty"`
	// onFailure is refused by name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="false",message="onFailure is gone from policies: set onFailure of the RemediationStrategy that strategyRef names"
	RemovedOnFailure string `json:"onFailure,omitempty"`
	// breaker is refused by name.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="breaker is gone from policies: set breaker of the RemediationStrategy that strategyRef names"
	RemovedBreaker *apiextensionsv1.JSON `json:"breaker,omitempty"`
}

// RemovedFromStrategy are fields that steps and the limits have replaced.
type RemovedFromStrategy struct {
	// canary is refused by name.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="canary is gone: set the first of steps"
	RemovedCanary *apiextensionsv1.JSON `json:"canary,omitempty"`
	// waves is refused by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:XValidation:rule="false",message="waves is gone: set steps"
	RemovedWaves []intstr.IntOrString `json:"waves,omitempty"`
	// soak is refused by name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="false",message="soak is gone: set soak in the steps"
	RemovedSoak string `json:"soak,omitempty"`
	// budget is refused by name.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="budget is gone: set maxInFlight, maxPerNamespace and maxTargets"
	RemovedBudget *apiextensionsv1.JSON `json:"budget,omitempty"`
}
