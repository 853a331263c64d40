// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxConditionMessage is a good deal less than the API's limit: messages are printer columns.
const maxConditionMessage = 4096

// Conditioned is an object whose status tells by conditions what is observed of it.
type Conditioned interface {
	GetGeneration() int64
	// Observed is where the status keeps the generation that it speaks of, and its
	// conditions.
	Observed() (generation *int64, conditions *[]metav1.Condition)
}

// SetConditions makes the given conditions, and none of Evenkeel's others, hold of the
// object as it is now; those that somebody else sets stay. The time of a condition changes
// with its status alone.
func SetConditions(obj Conditioned, now time.Time, hold ...metav1.Condition) {
	generation, conditions := obj.Observed()
	*generation = obj.GetGeneration()
	for _, c := range hold {
		c.ObservedGeneration = max(obj.GetGeneration(), 0)
		c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
		c.Message = prose.Shorten(c.Message, maxConditionMessage)
		meta.SetStatusCondition(conditions, c)
	}
	*conditions = slices.DeleteFunc(*conditions, func(c metav1.Condition) bool {
		held := slices.ContainsFunc(hold, func(h metav1.Condition) bool { return h.Type == c.Type })
		return !held && slices.Contains(v1alpha1.ConditionTypes(), c.Type)
	})
}

// ConditionTrue is a condition that holds.
func ConditionTrue(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// ConditionFalse is a condition that doesn't hold.
func ConditionFalse(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// Ready are the conditions of an object that is what its spec asks for: kstatus calls it
// Current.
func Ready(reason, message string) []metav1.Condition {
	return []metav1.Condition{ConditionTrue(v1alpha1.ConditionReady, reason, message)}
}

// Underway are the conditions of an object that becomes ready without a person, or waits
// for whom a person has asked it to wait: kstatus calls it InProgress.
func Underway(reason, message string) []metav1.Condition {
	return []metav1.Condition{
		ConditionFalse(v1alpha1.ConditionReady, reason, message),
		ConditionTrue(v1alpha1.ConditionReconciling, reason, message),
	}
}

// Stalled are the conditions of an object with which nothing goes on until a person acts:
// kstatus calls it Failed.
func Stalled(reason, message string) []metav1.Condition {
	return []metav1.Condition{
		ConditionFalse(v1alpha1.ConditionReady, reason, message),
		ConditionTrue(v1alpha1.ConditionStalled, reason, message),
	}
}
