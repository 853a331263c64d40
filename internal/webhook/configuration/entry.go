// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is what narrows one webhook: those namespaces, those objects, those
// requests and no others are sent to it.
type entry struct {
	Name       string                                   `json:"name"`
	Namespaces *metav1.LabelSelector                    `json:"namespaces,omitempty"`
	Objects    *metav1.LabelSelector                    `json:"objects,omitempty"`
	Conditions []admissionregistrationv1.MatchCondition `json:"conditions,omitempty"`
	// Own is an entry for Evenkeel's own kinds: who did something is stamped there,
	// so nobody may choose objects or requests that aren't sent.
	Own bool `json:"-"`
}

// additions are what others have added to an entry that only narrows it.
type additions struct {
	Namespaces, Objects metav1.LabelSelector
	Conditions          []admissionregistrationv1.MatchCondition
}

func (a *additions) None() bool {
	return empty(&a.Namespaces) && empty(&a.Objects) && len(a.Conditions) == 0
}

func empty(s *metav1.LabelSelector) bool {
	return len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

// String names the additions: "namespaceSelector control-plane DoesNotExist".
func (a *additions) String() string {
	var out []string
	for name, s := range map[string]*metav1.LabelSelector{
		"namespaceSelector": &a.Namespaces, "objectSelector": &a.Objects} {
		if !empty(s) {
			out = append(out, name+" "+metav1.FormatLabelSelector(s))
		}
	}
	slices.Sort(out)
	for _, c := range a.Conditions {
		out = append(out, fmt.Sprintf("matchCondition %s", c.Name))
	}
	return strings.Join(out, "; ")
}

// addedTo is what others have added to an entry: what it has now beyond what was
// applied last, and beyond what is wanted. What they have removed or changed isn't
// told; it is restored.
func addedTo(now, applied, wanted *entry) additions {
	a := additions{Namespaces: extra(now.Namespaces, applied.Namespaces, wanted.Namespaces)}
	if wanted.Own {
		return a
	}
	a.Objects = extra(now.Objects, applied.Objects, wanted.Objects)
	for _, c := range now.Conditions {
		named := func(other admissionregistrationv1.MatchCondition) bool { return other.Name == c.Name }
		if !slices.ContainsFunc(applied.Conditions, named) && !slices.ContainsFunc(wanted.Conditions, named) {
			a.Conditions = append(a.Conditions, c)
		}
	}
	return a
}

// extra is what a selector requires beyond what two others require. Requirements
// are joined by "and", so each only narrows.
func extra(now *metav1.LabelSelector, others ...*metav1.LabelSelector) metav1.LabelSelector {
	var out metav1.LabelSelector
	if now == nil {
		return out
	}
	for key, value := range now.MatchLabels {
		if !slices.ContainsFunc(others, func(s *metav1.LabelSelector) bool {
			return s != nil && s.MatchLabels[key] != ""
		}) {
			if out.MatchLabels == nil {
				out.MatchLabels = map[string]string{}
			}
			out.MatchLabels[key] = value
		}
	}
	for _, e := range now.MatchExpressions {
		same := func(other metav1.LabelSelectorRequirement) bool { return equality.Semantic.DeepEqual(e, other) }
		if !slices.ContainsFunc(others, func(s *metav1.LabelSelector) bool {
			return s != nil && slices.ContainsFunc(s.MatchExpressions, same)
		}) {
			out.MatchExpressions = append(out.MatchExpressions, e)
		}
	}
	return out
}

// joined is a selector with what was added to it. Where that is what is there now, in
// whatever order, it is that.
func joined(wanted, now *metav1.LabelSelector, added metav1.LabelSelector) *metav1.LabelSelector {
	if empty(&added) {
		return wanted
	}
	if missing := extra(wanted, now); empty(&missing) {
		if more := extra(now, wanted, &added); empty(&more) {
			return now
		}
	}
	both := wanted.DeepCopy()
	if both == nil {
		both = &metav1.LabelSelector{}
	}
	for key, value := range added.MatchLabels {
		if both.MatchLabels == nil {
			both.MatchLabels = map[string]string{}
		}
		both.MatchLabels[key] = value
	}
	both.MatchExpressions = append(both.MatchExpressions, added.MatchExpressions...)
	return both
}
