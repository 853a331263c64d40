// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Enforces says why a policy isn't known to do that at admission; nil where its status says that it does, for what it
// asks for now. That the scan can't list some kind is no reason: one that isn't served, say, as a constraint may name.
func Enforces(p *v1alpha1.ClusterRegoPolicy, action v1alpha1.AdmissionAction) error {
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case p.Spec.Admission.Action != action:
		return fmt.Errorf("somebody has set admission.action of policy %s to %s", p.Name, p.Spec.Admission.Action)
	case p.Status.ObservedGeneration < p.Generation:
		return fmt.Errorf("the manager hasn't reconciled policy %s yet: evenkeel doctor tells why", p.Name)
	case ready == nil || ready.Status != metav1.ConditionTrue && ready.Reason != v1alpha1.ReasonScanIncomplete:
		message := "it says nothing of itself"
		if ready != nil {
			message = ready.Reason + ": " + ready.Message
		}
		return fmt.Errorf("policy %s isn't in force as it is written (%s)", p.Name, message)
	case p.Status.InForce == nil || p.Status.InForce.AdmissionAction != action:
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
	// Nobody: the constraint was switched to a policy, which is gone or only records.
	Nobody State = "NEITHER ENFORCES"
)

// StateOf says who enforces a constraint, by what it and its policy, nil for none, are written to do.
func StateOf(c *Constraint, p *v1alpha1.ClusterRegoPolicy) State {
	ours := p != nil && p.Spec.Admission.Action != v1alpha1.AdmissionAudit
	theirs := c.Enforcement() != dryRun
	switch {
	case c.EnforcedBy() != "" && !ours && !theirs:
		return Nobody
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
