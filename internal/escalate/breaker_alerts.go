// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// breakerFinding is the alert of a circuit breaker, from its first opening until
// it is closed: half-open, it still stops all plans but one. The global breaker
// stops everything. One that a person holds open is only called to mind.
func breakerFinding(cb *v1alpha1.RemediationBreaker, now time.Time) (finding, bool) {
	what := fmt.Sprintf("Circuit breaker %s is %s", cb.Name, cb.Status.State)
	if cb.Status.Reason != "" {
		what += fmt.Sprintf(" (%s)", cb.Status.Reason)
	}
	what = prose.OneLine(what)
	const meaning = "No new write begins in its scope; rollbacks, admission and the scan go on."
	f := finding{alert: AlertBreakerOpen, urgency: normal, summary: what}
	switch {
	case cb.Status.State != "" && cb.Status.State != v1alpha1.BreakerClosed:
		f.since = openedAt(cb)
		f.description = paragraphs(what+": "+said(cb.Status.Message, maxStatus), meaning,
			"What to do: find out why the writes failed. It probes by itself"+probeTime(cb)+
				", and two plans that succeed close it.")
		if cb.Spec.Scope.Type == v1alpha1.BreakerScopeGlobal {
			f.urgency = urgent
		}
	case cb.Spec.ForcedOpen(now):
		f.urgency, f.since = calm, forcedAt(cb)
		until := v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime)
		f.summary = fmt.Sprintf("Circuit breaker %s is held open by a person%s", cb.Name, until)
		f.description = paragraphs(fmt.Sprintf("A person holds it open%s, the kill switch (%s).", until,
			said(cb.ForcedBy().String(), maxStatus)), meaning,
			fmt.Sprintf("What to do: when it is no longer needed: evenkeel breaker close %s --reason \"...\"", cb.Name))
	default:
		return finding{}, false
	}
	f.due = f.since
	return f, true
}

// demotedFinding is the alert of a policy whose breaker opened too often. It lasts
// longer than the opening: until another revision is in force, or a person resets
// the breaker.
func demotedFinding(w *world, cb *v1alpha1.RemediationBreaker) (finding, bool) {
	demoted, policy := cb.Status.Demoted, w.policies[cb.Spec.Scope.Policy]
	if demoted == nil || policy == nil {
		return finding{}, false
	}
	if revision := policy.Status.Revision; revision != "" && demoted.Revision != "" && revision != demoted.Revision {
		return finding{}, false
	}
	return finding{alert: AlertPolicyDemoted, urgency: normal, since: demoted.StartTime.Time,
		due:     demoted.StartTime.Time,
		summary: fmt.Sprintf("Policy %s was demoted to dry runs", policy.Name),
		description: paragraphs(said(demoted.Message, maxStatus),
			"Its violations remain; its fixes are only tried as dry runs.",
			"What to do: find out why its fixes keep failing and change the policy, or reset circuit breaker "+cb.Name+
				" and say why.")}, true
}

// breakerAlert gives a breaker's finding its labels: those of its policy, or of
// nobody in particular.
func (w *world) breakerAlert(f finding, cb *v1alpha1.RemediationBreaker, o AlertOptions) Alert {
	a := w.alert(f, cb.Spec.Scope.Policy, o)
	a.Scope = string(cb.Spec.Scope.Type)
	a.Namespace = cmp.Or(cb.Spec.Scope.Namespace, o.Namespace)
	if cb.Spec.Scope.Type == v1alpha1.BreakerScopeGlobal {
		a.Severity = severityOf(f.urgency, v1alpha1.SeverityCritical)
	}
	if o.Dashboard != nil {
		a.DashboardURL = o.Dashboard(a.Identity)
	}
	return a
}

func probeTime(cb *v1alpha1.RemediationBreaker) string {
	if cb.Status.State != v1alpha1.BreakerOpen || cb.Status.NextProbeTime == nil {
		return ""
	}
	return " from " + cb.Status.NextProbeTime.UTC().Format(time.RFC3339)
}

func openedAt(cb *v1alpha1.RemediationBreaker) time.Time {
	if cb.Status.OpenedTime != nil {
		return cb.Status.OpenedTime.Time
	}
	return cb.CreationTimestamp.Time
}

// forcedAt is when somebody forced the breaker open, as admission recorded it, or
// when spec.mode was last written, as the API server did.
func forcedAt(cb *v1alpha1.RemediationBreaker) time.Time {
	if r := cb.ForcedBy(); r != nil {
		return r.RequestTime.Time
	}
	at := cb.CreationTimestamp.Time
	for _, entry := range cb.ManagedFields {
		if entry.Time != nil && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:mode"`) {
			at = cmp.Or(entry.Time.Time, at)
		}
	}
	return at
}
