// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of judging by topdown, OPA's own engine, although the compiled engine is in use: in a ClusterRegoPolicy's
// status, and in metrics.
const (
	// ReasonNotCompilable: the compiled engine can't take the policy.
	ReasonNotCompilable = "NotCompilable"
	// ReasonEnginesDiffer: the engines gave different verdicts of this revision.
	ReasonEnginesDiffer = "EnginesDiffer"
	// ReasonEngineStopped: this evaluation took more than the compiled engine is given.
	ReasonEngineStopped = "EngineStopped"
	// ReasonEvaluationFailed: this evaluation failed, and topdown says of what.
	ReasonEvaluationFailed = "EvaluationFailed"
)

// PolicyEngine says what evaluates the rules of a policy.
type PolicyEngine struct {
	// name is compiled, or topdown, OPA's own.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// reason says why topdown judges although the compiled engine is in use (--engine):
	// NotCompilable or EnginesDiffer. It is empty where it wasn't asked for.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message says the reason in words.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
