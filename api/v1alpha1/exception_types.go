package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PolicyException waives violations of some policies on some objects until a set
// time: they are admitted with a warning, counted apart, and left unmended. It
// covers objects of its own namespace; in the controller's own namespace, objects
// of any namespace and cluster-scoped ones.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=polex,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.policies`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.expiresAt`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Why",type=string,priority=1,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Active")].message`
type PolicyException struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is waived, for which objects, why and until when.
	// +required
	Spec PolicyExceptionSpec `json:"spec"`
	// status says whether the waiver holds. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status PolicyExceptionStatus `json:"status,omitempty"`
}

// PolicyExceptionList is a list of PolicyException objects.
// +kubebuilder:object:root=true
type PolicyExceptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicyException `json:"items"`
}

// PolicyExceptionSpec says what is waived.
type PolicyExceptionSpec struct {
	// policies are the names of the policies whose violations are waived.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Policies []string `json:"policies"`
	// match says which objects are covered. {} covers all that the exception's
	// namespace lets it cover.
	// +required
	Match ExceptionMatch `json:"match"`
	// reason says why the violations are acceptable for now, for people.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// expiresAt is when the waiver ends by itself, for example
	// 2027-03-31T00:00:00Z. From that moment on the violations count again.
	// +required
	ExpiresAt metav1.Time `json:"expiresAt"`
}

// ExceptionMatch says which objects an exception covers. Every part that is set
// must agree.
type ExceptionMatch struct {
	// resources names the kinds; empty means every kind. The kind is that of the
	// object that is judged: the Deployment, not its Pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Resources []ResourceMatch `json:"resources,omitempty"`
	// names are globs (* and ?) of the objects' names; empty means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
	// labelSelector chooses objects by their own labels. At admission the object
	// as it would be counts.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// namespaces are globs (* and ?) of the namespaces covered, in the
	// controller's own namespace only; empty means all. For a Namespace object its
	// own name counts. Other cluster-scoped objects are covered only while this
	// list is empty.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Namespaces []string `json:"namespaces,omitempty"`
}

// PolicyExceptionStatus is what the controller observes of a PolicyException.
type PolicyExceptionStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready (True: the waiver is in order, also when it has expired) and
	// Active (True: it waives violations now); Reconciling and Stalled while they are True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
