// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RegoTemplate is a rule in Rego without the objects that it concerns, for as many
// ClusterRegoPolicies as name it in templateRef, each with parameters of its own. A change of
// it is a new revision of each of them.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=regot,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Policies",type=integer,JSONPath=`.status.policies`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type RegoTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the rule as its author declares it.
	// +required
	Spec RegoTemplateSpec `json:"spec"`
	// status is what the controller observes. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status RegoTemplateStatus `json:"status,omitempty"`
}

// RegoTemplateList is a list of RegoTemplate objects.
// +kubebuilder:object:root=true
type RegoTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RegoTemplate `json:"items"`
}

// RegoTemplateSpec is the desired state of a RegoTemplate.
type RegoTemplateSpec struct {
	// rego is the rule.
	// +required
	Rego RegoSource `json:"rego"`
	// parameterSchema says which parameters the policies that use the rule may give.
	// Default: any.
	// +optional
	ParameterSchema *ParameterSchema `json:"parameterSchema,omitempty"`
}

// ParameterSchema says of which form parameters are.
type ParameterSchema struct {
	// openAPIV3Schema is a structural schema of an object, as a CustomResourceDefinition has
	// one, with defaults; x-kubernetes-validations, pattern, references to types of Kubernetes
	// (x-kubernetes-embedded-resource), a default that holds something above other defaults, and
	// more than 64 KiB are refused. A field that isn't in it is refused too, unless
	// x-kubernetes-preserve-unknown-fields lets it in.
	// +required
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	OpenAPIV3Schema apiextensionsv1.JSON `json:"openAPIV3Schema"`
}

// TemplateReference names a RegoTemplate.
type TemplateReference struct {
	// name is the RegoTemplate's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// RegoTemplateStatus is what the controller observes of a RegoTemplate.
type RegoTemplateStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// policies is the number of ClusterRegoPolicies whose templateRef names it.
	// +optional
	Policies int32 `json:"policies"`
	// conditions are Ready, and Stalled while it is True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
