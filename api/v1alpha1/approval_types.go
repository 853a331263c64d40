// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

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

// PlanApproval is a person's answer to a plan that awaits one. Who gave it is in the record of requests: see Requests.
type PlanApproval struct {
	// decision is Approve or Reject.
	// +required
	// +kubebuilder:validation:Enum=Approve;Reject
	Decision ApprovalDecision `json:"decision"`
	// wave is the number of waves that were done when the plan asked: the answer lets the next wave begin. 0, the
	// default, is the answer before the first wave, in mode Manual.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=189
	Wave int32 `json:"wave,omitempty"`
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

// ApprovalRecord is the latest answer that a plan acts on.
type ApprovalRecord struct {
	// decision is Approve or Reject.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Decision ApprovalDecision `json:"decision"`
	// wave is the number of waves that were done when the plan asked.
	// +optional
	Wave int32 `json:"wave,omitempty"`
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

// Token is what the record of the request that gave the answer has as its token.
func (a *PlanApproval) Token() string {
	if a.Wave == 0 {
		return ""
	}
	return fmt.Sprintf("wave %d", a.Wave)
}

// AnsweredBy is the request that answered the plan; nil when admission didn't see it.
func (r *Remediation) AnsweredBy() *RequestRecord {
	given := r.Spec.Approval
	if given == nil {
		return nil
	}
	asked := LatestRequest(Requests(r), RequestAction(given.Decision), ActionApprove, ActionReject)
	if asked == nil || asked.Token != given.Token() {
		return nil
	}
	return asked
}

// ApprovalWave is the latest wave, up to the current one, that begins only after a person's approval.
func (r *Remediation) ApprovalWave() (wave int32, asks bool) {
	plan := &r.Spec.Plan
	if !plan.Rollout.Mode.Runs() {
		return 0, false
	}
	for wave = min(r.Status.Wave, int32(len(plan.Waves))); wave > 0; wave-- { //nolint:gosec // at most MaxWaves.
		if plan.Waves[wave-1].Approval != "" {
			return wave, true
		}
	}
	return 0, plan.Rollout.Mode == RemediationManual
}

// AwaitsApproval reports the wave that can't begin yet because no answer to it is recorded.
func (r *Remediation) AwaitsApproval() (wave int32, awaits bool) {
	wave, asks := r.ApprovalWave()
	return wave, asks && (r.Status.Approval == nil || r.Status.Approval.Wave < wave)
}
