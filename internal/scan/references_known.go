// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// referencesKnown tells whether the rules of a policy can look up what they refer to; nothing if they refer to nothing.
// What a list that is under way will bring is known in a moment: until then what was said before stands, so that no
// condition changes for a restart, and none is there if nothing was said.
func referencesKnown(p *v1alpha1.ClusterRegoPolicy, c catalog.Status) []metav1.Condition {
	if len(c.References) == 0 {
		return nil
	}
	if len(c.Unknown) == 0 {
		return one(kube.ConditionTrue(v1alpha1.ConditionReferencesKnown, v1alpha1.ReasonListed,
			"the rules see the objects of "+kindsOf(c.References)))
	}
	before := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReferencesKnown)
	known := slices.IndexFunc(c.Unknown, func(u inventory.Unknown) bool { return !u.Pending })
	switch {
	case known >= 0:
	case before != nil && before.ObservedGeneration == p.Generation:
		return one(*before)
	default:
		return nil
	}
	var why []string
	for _, u := range c.Unknown {
		why = append(why, u.Reference.String()+": "+u.Err.Error())
	}
	return one(kube.ConditionFalse(v1alpha1.ConditionReferencesKnown, c.Unknown[known].Reason,
		"the rules count as not evaluated, since they can't look up "+strings.Join(why, "; ")))
}

func one(c metav1.Condition) []metav1.Condition { return []metav1.Condition{c} }

func kindsOf(references []inventory.Reference) string {
	var kinds []string
	for i := range references {
		kinds = append(kinds, references[i].String())
	}
	slices.SortFunc(kinds, cmp.Compare[string])
	return strings.Join(slices.Compact(kinds), ", ")
}
