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

// PlanApproval is a person's answer to a plan in mode Manual. Who gave it is in the record of requests: see Requests.
type PlanApproval struct {
	// decision is Approve or Reject.
	// +required
	// +kubebuilder:validation:Enum=Approve;Reject
	Decision ApprovalDecision `json:"decision"`
	// proposalDigest is the digest of the changes that are approved: status.proposalDigest, which
	// evenkeel rollout get and approve show with the changes. An approval with another digest is refused. Absent,
	// the plan's changes are approved whatever they are.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	ProposalDigest string `json:"proposalDigest,omitempty"`
	// comment says why, for the record.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Comment string `json:"comment,omitempty"`
}

// ApprovalRecord is the answer that a plan acts on.
type ApprovalRecord struct {
	// decision is Approve or Reject.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Decision ApprovalDecision `json:"decision"`
	// approver is who answered, as admission recorded it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Approver string `json:"approver,omitempty"`
	// comment is what they said.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Comment string `json:"comment,omitempty"`
	// decisionTime is when the answer was given.
	// +required
	DecisionTime metav1.MicroTime `json:"decisionTime"`
}

// AnsweredBy is the request that answered the plan; nil when admission didn't see it.
func (r *Remediation) AnsweredBy() *RequestRecord {
	if r.Spec.Approval == nil {
		return nil
	}
	return LatestRequest(Requests(r), RequestAction(r.Spec.Approval.Decision), ActionApprove, ActionReject)
}
