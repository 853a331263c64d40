// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// InForce returns why a policy isn't known to do at admission what its spec says; nil if its status says that it does.
// The scan may fail to list a kind: a constraint can name one that isn't served.
func InForce(p *v1alpha1.ClusterRegoPolicy) error {
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case p.Status.ObservedGeneration < p.Generation:
		return fmt.Errorf("the manager hasn't reconciled policy %s yet: evenkeel doctor tells why", p.Name)
	case ready == nil || ready.Status != metav1.ConditionTrue && ready.Reason != v1alpha1.ReasonScanIncomplete:
		message := "it says nothing of itself"
		if ready != nil {
			message = ready.Reason + ": " + ready.Message
		}
		return fmt.Errorf("policy %s isn't in force as it is written (%s)", p.Name, message)
	case p.Status.InForce == nil || p.Status.InForce.AdmissionAction != p.Spec.Admission.Action:
		return fmt.Errorf("policy %s does something else at admission than it is written to: evenkeel policy history "+
			"%s tells of overrides", p.Name, p.Name)
	}
	if known := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReferencesKnown); known != nil &&
		known.Status != metav1.ConditionTrue {
		return fmt.Errorf("what policy %s looks up isn't known (%s)", p.Name, known.Message)
	}
	return nil
}

// State says who enforces a constraint.
type State string

// Who may.
const (
	NotMigrated State = "not migrated"
	Gatekeeper  State = "Gatekeeper enforces"
	Both        State = "both enforce"
	Evenkeel    State = "Evenkeel enforces"
	Neither     State = "both only record"
)

// StateOf says who enforces a constraint, by what it and its policy, nil for none, are written to do.
func StateOf(c *Constraint, p *v1alpha1.ClusterRegoPolicy) State {
	ours := p != nil && p.Spec.Admission.Action != v1alpha1.AdmissionAudit
	theirs := c.Enforcement() != dryRun
	switch {
	case p == nil:
		return NotMigrated
	case ours && theirs:
		return Both
	case ours:
		return Evenkeel
	case theirs:
		return Gatekeeper
	}
	return Neither
}

// Stands returns why a policy doesn't stand for a constraint; nil if it does.
func Stands(p *v1alpha1.ClusterRegoPolicy, c *Constraint) error {
	switch {
	case p.Annotations[v1alpha1.AnnotationMigratedFrom] != c.ID():
		return fmt.Errorf("policy %s wasn't migrated from constraint %s", p.Name, c.ID())
	case p.Annotations[v1alpha1.AnnotationMigratedUID] != string(c.Object.GetUID()):
		return fmt.Errorf("constraint %s was deleted and created again since policy %s was made of it: run evenkeel "+
			"migrate gatekeeper apply again", c.ID(), p.Name)
	}
	return nil
}
