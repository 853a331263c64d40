// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
)

// policyFinding is the alert about the policy itself, by its Ready condition.
func policyFinding(w *world, name string) (finding, bool) {
	p := w.policies[name]
	if p == nil {
		return finding{}, false
	}
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return finding{}, false
	case ready.Status == metav1.ConditionFalse && slices.Contains(notInForce(), ready.Reason):
		return notCompiling(p, ready), true
	case ready.Status == metav1.ConditionFalse && withoutStrategy(ready.Reason):
		return notRemediated(p, ready), true
	case ready.Reason == v1alpha1.ReasonScanIncomplete, ready.Reason == v1alpha1.ReasonScanning:
		return scanIncomplete(p, ready, w.deadline(p)), true
	default:
		return finding{}, false
	}
}

// notInForce are the reasons of a policy whose newest revision isn't in force.
func notInForce() []string {
	return []string{v1alpha1.ReasonCompileFailed, v1alpha1.ReasonInvalid, v1alpha1.ReasonTemplateFailed,
		v1alpha1.ReasonTemplateNotFound, v1alpha1.ReasonParametersInvalid}
}

// withoutStrategy says whether a policy is in force, and nothing is remediated by it for
// want of its strategy.
func withoutStrategy(reason string) bool {
	return reason == v1alpha1.ReasonStrategyNotFound || reason == v1alpha1.ReasonStrategyInvalid
}

// applyWait is how long a policy may wait for the template or the strategy that it names,
// applied after it, before people are told.
const applyWait = 5 * time.Minute

// notCompiling: what its author wrote isn't what is enforced. Without any good
// revision the policy enforces nothing but its failurePolicy.
func notCompiling(p *v1alpha1.ClusterRegoPolicy, ready *metav1.Condition) finding {
	f := finding{alert: AlertPolicyNotCompiling, urgency: normal, since: ready.LastTransitionTime.Time,
		due:     ready.LastTransitionTime.Time,
		summary: fmt.Sprintf("Policy %s doesn't compile; its last good revision stays in force", p.Name),
		description: paragraphs(said(ready.Message, maxStatus),
			"What to do: correct it; evenkeel test and evenkeel check show the same error.")}
	if ready.Reason == v1alpha1.ReasonTemplateNotFound {
		f.due = f.since.Add(applyWait)
	}
	if p.Status.Revision == "" {
		f.urgency = urgent
		f.summary = fmt.Sprintf("Policy %s doesn't compile, and no revision of it is in force", p.Name)
	}
	return f
}

// notRemediated: the policy gates and scans, and what violates it stays.
func notRemediated(p *v1alpha1.ClusterRegoPolicy, ready *metav1.Condition) finding {
	is := "is missing"
	if ready.Reason == v1alpha1.ReasonStrategyInvalid {
		is = "can't be followed"
	}
	since := ready.LastTransitionTime.Time
	return finding{alert: AlertPolicyNotCompiling, urgency: normal, since: since, due: since.Add(applyWait),
		summary: fmt.Sprintf("Nothing is remediated by policy %s: its RemediationStrategy %s %s", p.Name,
			strategy.Named(p), is),
		description: paragraphs(said(ready.Message, maxStatus),
			"What to do: create or correct the RemediationStrategy, or name another in spec.remediation.strategyRef.")}
}

// scanIncomplete: the counts are a lower bound, and no plan is made from them. A
// scan that has just begun, after a restart say, neither begins nor ends it.
func scanIncomplete(p *v1alpha1.ClusterRegoPolicy, ready *metav1.Condition, deadline time.Duration) finding {
	f := finding{alert: AlertScanIncomplete, urgency: normal, goesOn: true,
		summary: fmt.Sprintf("The scan for policy %s has been incomplete for more than %s", p.Name, deadline),
		description: paragraphs(said(ready.Message, maxStatus),
			"No plan is made for this policy, and its counts are a lower bound.",
			"What to do: see each kind's message above.")}
	if ready.Reason == v1alpha1.ReasonScanIncomplete {
		f.since = ready.LastTransitionTime.Time
		f.due = f.since.Add(deadline)
	}
	return f
}
