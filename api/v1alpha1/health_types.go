// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// UnknownHealth says what happens to targets whose health nobody can tell.
type UnknownHealth string

const (
	// UnknownHealthHold holds the plan before its first write.
	UnknownHealthHold UnknownHealth = "Hold"
	// UnknownHealthAllow takes it that such a target is as well as it was: only the
	// policy's own verdict verifies the fix.
	UnknownHealthAllow UnknownHealth = "Allow"
)

// HealthStrategy says how the health of targets is determined where neither Kubernetes nor
// the object's own conditions tell it.
type HealthStrategy struct {
	// unknown says what happens to targets whose health nobody can tell: custom
	// resources without a rule, a Ready condition or an observedGeneration. With an
	// analysis the metrics tell, and this isn't asked. Default: Hold.
	// +optional
	// +kubebuilder:validation:Enum=Hold;Allow
	Unknown UnknownHealth `json:"unknown,omitempty"`
	// rules tell the health of kinds, before the rules that Evenkeel has for
	// well-known kinds.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Rules []HealthRule `json:"rules,omitempty"`
}

// HealthRule tells the health of one kind by CEL expressions over its object. Where
// kstatus says that the object is in progress or has failed, the rule isn't asked.
type HealthRule struct {
	// apiGroup is the kind's API group; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup,omitempty"`
	// kind is the kind.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// current is a CEL expression over object that is true when all is well, for
	// example object.status.phase == 'Running'. While it is false, or can't be
	// calculated because a field isn't there yet, the object is in progress.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Current string `json:"current"`
	// failed is a CEL expression over object that is true when the object has failed
	// for good, for example object.status.phase == 'Failed'.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Failed string `json:"failed,omitempty"`
}
