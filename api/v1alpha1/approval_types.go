// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApprovalDecision is a person's answer to a plan.
type ApprovalDecision string

const (
	// DecisionApprove lets the plan be rolled out.
	DecisionApprove ApprovalDecision = "Approve"
	// DecisionReject ends the plan.
	DecisionReject ApprovalDecision = "Reject"
)

// RemediationApproval is a person's answer to one plan in mode Manual. Who may
// answer is a matter of RBAC: the permission to create remediationapprovals, and the verb
// approve on the policy.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=remapproval,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Remediation",type=string,JSONPath=`.spec.remediationRef.name`
// +kubebuilder:printcolumn:name="Decision",type=string,JSONPath=`.spec.decision`
// +kubebuilder:printcolumn:name="Approver",type=string,JSONPath=`.spec.approver`
// +kubebuilder:printcolumn:name="Counts",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Comment",type=string,priority=1,JSONPath=`.spec.comment`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type RemediationApproval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the answer. It never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an answer is immutable: delete it and give another"
	Spec RemediationApprovalSpec `json:"spec"`
	// status says whether the answer counts. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status RemediationApprovalStatus `json:"status,omitempty"`
}

// RemediationApprovalList is a list of RemediationApproval objects.
// +kubebuilder:object:root=true
type RemediationApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RemediationApproval `json:"items"`
}

// BoundReference names one object, and none that is made under its name later.
type BoundReference struct {
	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid is its metadata.uid.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
}

// RefTo is the reference to an object.
func RefTo(obj metav1.Object) BoundReference {
	return BoundReference{Name: obj.GetName(), UID: string(obj.GetUID())}
}

// RemediationApprovalSpec is a person's answer.
type RemediationApprovalSpec struct {
	// remediationRef is the plan, the very one that was reviewed. All of a plan is
	// immutable, so its UID says which targets and fixes the answer is to.
	// +required
	RemediationRef BoundReference `json:"remediationRef"`
	// policy is the name of the plan's policy. To answer asks for the verb approve on it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Policy string `json:"policy"`
	// proposalDigest is the digest of the changes that are approved, as evenkeel rollout get
	// and approve show it. A yes with another digest than the plan's never counts. Absent,
	// a yes is to the plan's changes whatever they are.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	ProposalDigest string `json:"proposalDigest,omitempty"`
	// decision is Approve or Reject.
	// +required
	// +kubebuilder:validation:Enum=Approve;Reject
	Decision ApprovalDecision `json:"decision"`
	// comment says why, for the record.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Comment string `json:"comment,omitempty"`
	// approver is the user who answers. Admission fills it in from the request;
	// what the request itself says is replaced.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Approver string `json:"approver,omitempty"`
}

// RemediationApprovalStatus is what the controller makes of an answer.
type RemediationApprovalStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready (True: the answer was taken), and Stalled when it won't be.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ApprovalRecord is the answer that a plan got.
type ApprovalRecord struct {
	// approvalRef is the RemediationApproval.
	// +required
	ApprovalRef BoundReference `json:"approvalRef"`
	// decision is Approve or Reject.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Decision ApprovalDecision `json:"decision"`
	// approver is who answered.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Approver string `json:"approver,omitempty"`
	// comment is what they said.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Comment string `json:"comment,omitempty"`
	// decisionTime is when the answer was given.
	// +required
	DecisionTime metav1.MicroTime `json:"decisionTime"`
}
