// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// gates draws all that can keep the next write from beginning.
func (r Rollout) gates(d *drawing) {
	d.section("Gates")
	gate := func(t tone, name, format string, args ...any) {
		d.add(t, "  %s %-10s %s", mark(t), name, fmt.Sprintf(format, args...))
	}
	r.approvalGate(gate)
	if r.Remediation.Spec.DesiredState == v1alpha1.StatePaused {
		gate(busy, "pause", "paused by %s; resume: evenkeel rollout resume %s", r.Remediation.Spec.AskedBy(),
			r.Remediation.Name)
	}
	r.windowGate(gate)
	r.analysisGate(gate)
	for i := range r.Breakers {
		r.breakerGate(gate, &r.Breakers[i])
	}
	if len(r.Breakers) == 0 {
		gate(bad, "breaker", "no circuit breaker could be read, which counts as open")
	}
}

type drawGate func(t tone, name, format string, args ...any)

func (r Rollout) approvalGate(gate drawGate) {
	if r.Remediation.Spec.Plan.Strategy.Mode != v1alpha1.RemediationManual {
		return
	}
	answer := r.Remediation.Status.Approval
	switch {
	case answer == nil && r.phase().Final():
		gate(faint, "approval", "nobody has answered before the plan ended")
	case answer == nil:
		gate(busy, "approval", "nobody has answered; answer: evenkeel rollout approve|reject %s", r.Remediation.Name)
	case answer.Decision == v1alpha1.DecisionReject:
		gate(bad, "approval", "rejected by %s %s ago. %s", answer.Approver, r.ago(answer.At.Time), answer.Comment)
	default:
		gate(good, "approval", "approved by %s %s ago. %s", answer.Approver, r.ago(answer.At.Time), answer.Comment)
	}
}

func (r Rollout) windowGate(gate drawGate) {
	windows := r.Remediation.Spec.Plan.Strategy.Windows
	if len(windows) == 0 {
		return
	}
	state, err := canary.WindowState(windows, r.Now)
	switch {
	case err != nil:
		gate(bad, "window", "counts as closed: %v", err)
	case state.Open:
		gate(good, "window", "open until %s", state.Closes.UTC().Format(time.RFC3339))
	case state.Opens.IsZero():
		gate(bad, "window", "closed, and doesn't open within five years")
	default:
		gate(busy, "window", "closed until %s", state.Opens.UTC().Format(time.RFC3339))
	}
}

func (r Rollout) analysisGate(gate drawGate) {
	for _, m := range r.Remediation.Status.Analysis {
		t := map[v1alpha1.AnalysisVerdict]tone{v1alpha1.AnalysisPassed: good, v1alpha1.AnalysisFailed: bad,
			v1alpha1.AnalysisInconclusive: busy, v1alpha1.AnalysisRunning: plain}[m.Verdict]
		gate(t, "metric", "%s: %s, last %s, baseline %s. %s", m.Name, orDash(string(m.Verdict)), orDash(m.LastSample),
			orDash(m.Baseline), m.Message)
	}
}

func (r Rollout) breakerGate(gate drawGate, cb *v1alpha1.RemediationBreaker) {
	namespace := r.keptBackBy(cb)
	switch {
	case namespace != "" && cb.Spec.ForcedOpen():
		gate(busy, "breaker",
			"namespace %s alone is kept back: %s is held open by a person; release: evenkeel breaker close %s",
			namespace, cb.Name, cb.Name)
	case namespace != "":
		gate(busy, "breaker", "namespace %s alone is kept back: %s is %s (%s): %s", namespace, cb.Name, cb.Status.State,
			cb.Status.Reason, cb.Status.Message)
	case cb.Spec.ForcedOpen():
		gate(bad, "breaker", "%s is held open by a person; release: evenkeel breaker close %s", cb.Name, cb.Name)
	case cb.Status.State == v1alpha1.BreakerOpen:
		gate(bad, "breaker", "%s is Open (%s): %s", cb.Name, cb.Status.Reason, cb.Status.Message)
	case cb.Status.State == v1alpha1.BreakerHalfOpen:
		gate(busy, "breaker", "%s is HalfOpen: %s", cb.Name, cb.Status.Message)
	default:
		gate(good, "breaker", "%s is Closed, %d of %d outcomes failed", cb.Name, cb.Status.Failures, cb.Status.Outcomes)
	}
}

// keptBackBy is the one namespace that a breaker keeps back of a plan that goes on
// elsewhere; empty when it keeps back nothing, or all of the plan.
func (r Rollout) keptBackBy(cb *v1alpha1.RemediationBreaker) string {
	only := cb.Spec.Scope.Namespace
	if cb.Spec.Scope.Type != v1alpha1.BreakerScopeNamespace {
		if only = cb.Status.OnlyNamespace; cb.Spec.ForcedOpen() {
			return "" // a person holds it open for all
		}
	}
	if !cb.Spec.ForcedOpen() && cb.Status.State != v1alpha1.BreakerOpen && cb.Status.State != v1alpha1.BreakerHalfOpen {
		return ""
	}
	elsewhere := slices.ContainsFunc(r.Slices, func(s v1alpha1.RemediationSlice) bool {
		return slices.ContainsFunc(s.Targets, func(t v1alpha1.Target) bool { return t.Object.Namespace != only })
	})
	if !elsewhere {
		return ""
	}
	return only
}
