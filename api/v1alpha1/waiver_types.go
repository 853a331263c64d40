// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Waiver waives violations of some policies on some objects of its own namespace until
// a set time: they are admitted with a warning, counted apart, and not remediated.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.policies`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.expirationTime`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Why",type=string,priority=1,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Active")].message`
type Waiver struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is waived, for which objects, why and until when.
	// +required
	Spec WaiverSpec `json:"spec"`
	// status says whether the waiver holds. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status WaiverStatus `json:"status,omitempty"`
}

// WaiverList is a list of Waiver objects.
// +kubebuilder:object:root=true
type WaiverList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Waiver `json:"items"`
}

// ClusterWaiver waives violations of some policies on some objects, of any namespace or
// of none, until a set time.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.policies`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.expirationTime`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Why",type=string,priority=1,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Active")].message`
type ClusterWaiver struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is waived, for which objects, why and until when.
	// +required
	Spec ClusterWaiverSpec `json:"spec"`
	// status says whether the waiver holds. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status WaiverStatus `json:"status,omitempty"`
}

// ClusterWaiverList is a list of ClusterWaiver objects.
// +kubebuilder:object:root=true
type ClusterWaiverList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterWaiver `json:"items"`
}

// AnyWaiver is a Waiver or a ClusterWaiver.
// +kubebuilder:object:generate=false
type AnyWaiver interface {
	metav1.Object
	runtime.Object
	// Terms are what waivers of both kinds say.
	Terms() *WaiverTerms
	// Covered is what the waiver covers; of a Waiver, within its namespace.
	Covered() ClusterWaiverMatch
	// Observed is where the status keeps the generation that it speaks of, and its conditions.
	Observed() (generation *int64, conditions *[]metav1.Condition)
}

// WaiverKind is the kind of the waivers of a namespace; ClusterWaiver, when there is none.
func WaiverKind(namespace string) string {
	if namespace == "" {
		return "ClusterWaiver"
	}
	return "Waiver"
}

// NewWaiver is an empty Waiver; or a ClusterWaiver, when there is no namespace.
func NewWaiver(namespace string) AnyWaiver {
	if namespace == "" {
		return &ClusterWaiver{}
	}
	return &Waiver{}
}

// Terms are what waivers of both kinds say.
func (w *Waiver) Terms() *WaiverTerms { return &w.Spec.WaiverTerms }

// Covered is what the waiver covers, within its namespace.
func (w *Waiver) Covered() ClusterWaiverMatch { return ClusterWaiverMatch{WaiverMatch: w.Spec.Match} }

// Terms are what waivers of both kinds say.
func (w *ClusterWaiver) Terms() *WaiverTerms { return &w.Spec.WaiverTerms }

// Covered is what the waiver covers.
func (w *ClusterWaiver) Covered() ClusterWaiverMatch { return w.Spec.Match }

// WaiverTerms are what a waiver of either kind says: which policies, why, and until when.
type WaiverTerms struct {
	// policies are the names of the policies whose violations are waived.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Policies []string `json:"policies"`
	// reason says why the violations are acceptable for now, for people.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// expirationTime is when the waiver ends by itself, for example
	// 2027-03-31T00:00:00Z. From that moment on the violations count again.
	// +required
	ExpirationTime metav1.Time `json:"expirationTime"`
}

// WaiverSpec says what is waived.
type WaiverSpec struct {
	WaiverTerms `json:",inline"`
	// match says which objects of the waiver's namespace are covered; {} covers all.
	// +required
	Match WaiverMatch `json:"match"`
}

// ClusterWaiverSpec says what is waived.
type ClusterWaiverSpec struct {
	WaiverTerms `json:",inline"`
	// match says which objects are covered; {} covers all of the cluster.
	// +required
	Match ClusterWaiverMatch `json:"match"`
}

// WaiverMatch says which objects a waiver covers. Every part that is set must agree.
type WaiverMatch struct {
	// kinds are the kinds of objects covered, by API group; empty means every kind. The kind is that of the
	// object that is judged: the Deployment, not its Pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Kinds []KindMatch `json:"kinds,omitempty"`
	// resources is refused by name. It is kinds now; if the API server dropped it, the waiver would cover every kind.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Type=object
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="false",message="resources is now kinds"
	RemovedResources []apiextensionsv1.JSON `json:"resources,omitempty"`
	// names are globs (* and ?) of the objects' names; empty means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
	// objectSelector chooses objects by their own labels. At admission the object
	// as it would be counts.
	// +optional
	ObjectSelector *LabelSelector `json:"objectSelector,omitempty"`
}

// ClusterWaiverMatch says which objects a ClusterWaiver covers. Every part that is set
// must agree.
type ClusterWaiverMatch struct {
	WaiverMatch `json:",inline"`
	// namespaces are globs (* and ?) of the namespaces covered; empty means all. For
	// a Namespace object its own name counts. Other cluster-scoped objects are covered
	// only while this list is empty.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Namespaces []string `json:"namespaces,omitempty"`
}

// WaiverStatus is what the controller observes of a waiver.
type WaiverStatus struct {
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
