// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NotObserved is the status.observedGeneration of an object that no controller has looked
// at yet. The schemas have it as their default, so that kstatus takes a new object for one
// in progress, rather than for one that is as it should be.
const NotObserved int64 = -1

// ConditionTypes are the types of all conditions that Evenkeel sets.
func ConditionTypes() []string {
	return []string{ConditionReady, ConditionReconciling, ConditionStalled, ConditionProgressing,
		ConditionApproved, ConditionComplete, ConditionEnded, ConditionActive, ConditionClosed, ConditionDemoted,
		ConditionOverridden, ConditionReferencesKnown}
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (p *ClusterRegoPolicy) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &p.Status.ObservedGeneration, &p.Status.Conditions
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (t *RegoTemplate) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &t.Status.ObservedGeneration, &t.Status.Conditions
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (w *Waiver) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &w.Status.ObservedGeneration, &w.Status.Conditions
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (w *ClusterWaiver) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &w.Status.ObservedGeneration, &w.Status.Conditions
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (o *PolicyOverride) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &o.Status.ObservedGeneration, &o.Status.Conditions
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (s *PolicySource) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &s.Status.ObservedGeneration, &s.Status.Conditions
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (r *Remediation) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &r.Status.ObservedGeneration, &r.Status.Conditions
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (b *RemediationBreaker) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &b.Status.ObservedGeneration, &b.Status.Conditions
}

// Observed is where the status keeps the generation that it speaks of, and its conditions.
func (s *RemediationStrategy) Observed() (generation *int64, conditions *[]metav1.Condition) {
	return &s.Status.ObservedGeneration, &s.Status.Conditions
}

// AnnotationMalformed says of an object, as it is read from a list or a watch, why what
// is stored isn't of its kind's form. Such an object has no spec, and a status only where that can
// be read. The annotation is never stored, and says nothing where it is.
// On: all kinds, as they are read. By: the manager and the commands, in memory.
const AnnotationMalformed = "evenkeel.dev/malformed"

// Malformed says why an object that was read isn't of its kind's form; empty when it is.
func Malformed(obj metav1.Object) string { return obj.GetAnnotations()[AnnotationMalformed] }
