// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// LabelSelector selects objects by their labels. It is written and means the same as the LabelSelector of
// Kubernetes' own kinds; its size is bounded, since it is stored in policies and in plans. An empty one selects all.
// +structType=atomic
type LabelSelector struct {
	// matchLabels are labels that an object must have, with these values.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`
	// matchExpressions are further requirements, all of which must hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// LabelSelectorRequirement is a requirement on the label of one key.
type LabelSelectorRequirement struct {
	// key is the key of the label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// operator relates the label to the values. In and NotIn need values, Exists and
	// DoesNotExist take none.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// values are the values that In and NotIn compare with.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}

// Selects reports that the selector leaves something out: nil and an empty one don't.
func (s *LabelSelector) Selects() bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// Kubernetes is the same selector in Kubernetes' own type; nil for nil.
func (s *LabelSelector) Kubernetes() *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &metav1.LabelSelector{}
	for key, value := range s.MatchLabels {
		metav1.AddLabelToSelector(out, key, string(value))
	}
	for _, r := range s.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement(r))
	}
	return out
}

// Selector is the selector in the form that matches labels. That of nil matches nothing. It returns an error for a
// key, an operator or a value that labels can't have.
func (s *LabelSelector) Selector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(s.Kubernetes())
}
