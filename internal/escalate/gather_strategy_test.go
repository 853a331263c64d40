// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestAlertsGoByTheStrategyThatAPolicyFollows(t *testing.T) {
	following := func() *v1alpha1.ClusterRegoPolicy {
		p := &v1alpha1.ClusterRegoPolicy{}
		p.Spec.Remediation.Mode, p.Spec.Remediation.StrategyRef = v1alpha1.RemediationAutomatic,
			&v1alpha1.StrategyReference{Name: "patient"}
		return p
	}
	patient := v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: "patient"}}
	patient.Spec.Escalation.Deadline = metav1.Duration{Duration: 3 * time.Hour}
	w := newWorld(State{Strategies: []v1alpha1.RemediationStrategy{
		{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, patient}})
	if got := w.deadline(following()); got != 3*time.Hour {
		t.Errorf("people are told after %s", got)
	}
	p := following()
	if got := newWorld(State{}).deadline(p); got != v1alpha1.DefaultEscalationDeadline {
		t.Errorf("without the strategy people are told after %s", got)
	}
	if p.Spec.Remediation.Mode != v1alpha1.RemediationAutomatic {
		t.Error("whoever deletes a strategy ends the alerts of its policies")
	}
}
