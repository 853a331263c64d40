// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxOverride is how long after it is created an override ends at the latest.
const MaxOverride = 7 * 24 * time.Hour

// PolicyOverride softens, until a set time, what admission does with the violations of the
// policy that has its name, no matter who manages that policy. It never makes a policy stricter, and
// changes neither the policy nor its revision. While it lasts, no new write of the policy's
// plans begins.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.admissionAction`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.expirationTime`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Active")].message`
type PolicyOverride struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what admission does in place of what the policy declares, and until when.
	// +required
	Spec PolicyOverrideSpec `json:"spec"`
	// status says whether the override holds. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status PolicyOverrideStatus `json:"status,omitempty"`
}

// PolicyOverrideList is a list of PolicyOverride objects.
// +kubebuilder:object:root=true
type PolicyOverrideList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicyOverride `json:"items"`
}

// PolicyOverrideSpec says what admission does in place of what a policy declares.
type PolicyOverrideSpec struct {
	// policyUID is the uid of the policy that is overridden, whose name is the override's
	// own. A policy that is recreated under that name isn't overridden.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	PolicyUID string `json:"policyUID"`
	// admissionAction is what becomes of a request whose object violates. One that is
	// stricter than the policy declares changes nothing of that.
	// +required
	// +kubebuilder:validation:Enum=Deny;Warn;Audit
	AdmissionAction AdmissionAction `json:"admissionAction"`
	// expirationTime is when the override ends by itself, at most 7 days after the object was
	// created. From that moment on the policy is enforced as it declares. To end it before, delete
	// the object.
	// +required
	ExpirationTime metav1.Time `json:"expirationTime"`
	// reason is why the policy is overridden. Admission records it with each request. Required to override a
	// policy, or to change how.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
}

// Asked is the request that the override stands on; nil when admission hasn't seen one.
func (o *PolicyOverride) Asked() *RequestRecord { return LatestRequest(Requests(o), ActionOverride) }

// PolicyOverrideStatus is what the controller observes of an override.
type PolicyOverrideStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready (True: the override is in order, also when it has ended) and
	// Active (True: the policy is overridden now); Reconciling and Stalled while they are
	// True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
