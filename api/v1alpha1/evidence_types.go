// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxEvidence is how many targets of a plan evidence is kept of.
const MaxEvidence = 5

// MaxFindings is how many findings are kept of a target.
const MaxFindings = 12

// FailureEvidence is what was seen of a target when its verification failed. It has no
// values of Secrets or of environment variables, and nothing that a program itself has said.
type FailureEvidence struct {
	// object is the target.
	// +required
	Object ObjectReference `json:"object"`
	// collectedTime is when it was seen.
	// +required
	CollectedTime metav1.MicroTime `json:"collectedTime"`
	// findings say what is wrong with the object's Pods and containers, and which Warning events
	// there were since the write, a line each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=12
	// +kubebuilder:validation:items:MaxLength=256
	Findings []string `json:"findings,omitempty"`
	// unread says what couldn't be read, and is missing in findings; absent when all could.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Unread string `json:"unread,omitempty"`
}

// EvidenceOf is what is kept of an object; nil for nothing.
func (s *RemediationStatus) EvidenceOf(uid string) *FailureEvidence {
	for i := range s.Evidence {
		if s.Evidence[i].Object.UID == uid {
			return &s.Evidence[i]
		}
	}
	return nil
}

// Lines are the evidence as people read it.
func (e *FailureEvidence) Lines() []string {
	if e == nil {
		return nil
	}
	lines := append([]string{}, e.Findings...)
	if e.Unread != "" {
		lines = append(lines, "evidence couldn't be read: "+e.Unread)
	}
	return lines
}
