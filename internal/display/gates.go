// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/prose"
)

// gates draws all that can keep the next write from beginning. Of a plan that has ended it
// draws what was decided, and what keeps the policy's next plan: nothing holds this one.
func (r Rollout) gates(d *drawing) {
	gate := func(t tone, name, format string, args ...any) {
		d.add(t, "  %s %-10s %s", mark(t), name, fmt.Sprintf(format, args...))
	}
	if r.phase().Final() {
		d.part("Decisions", func() {
			r.approvalGate(gate)
			r.analysisGate(gate)
		})
		d.part("Before the next plan", func() {
			r.breakerGates(gate, r.isOpen)
			r.unknownBreakers(gate)
		})
		return
	}
	d.section("Gates")
	r.approvalGate(gate)
	if spec := &r.Remediation.Spec; spec.Paused(r.Now) {
		gate(busy, "pause", "paused%s by %s; resume: evenkeel rollout resume %s",
			v1alpha1.UntilText(spec.PausedUntilTime), r.Remediation.AskedBy(), r.Remediation.Name)
	}
	r.windowGate(gate)
	r.analysisGate(gate)
	r.breakerGates(gate, func(*v1alpha1.RemediationBreaker) bool { return true })
	r.unknownBreakers(gate)
	if len(r.Breakers) == 0 && !r.BreakersUnknown {
		gate(bad, "breaker", "no circuit breaker could be read, which counts as open")
	}
}

// unknownBreakers says which breakers aren't known, for want of a permission.
func (r Rollout) unknownBreakers(gate drawGate) {
	switch {
	case r.BreakersUnknown:
		gate(busy, "breaker", "unavailable: you may not read circuit breakers")
	case r.TargetsUnknown:
		gate(busy, "breaker", "whether one of a namespace covers it isn't known: you may not read its targets")
	}
}

func (r Rollout) breakerGates(gate drawGate, which func(*v1alpha1.RemediationBreaker) bool) {
	for i := range r.Breakers {
		if which(&r.Breakers[i]) {
			r.breakerGate(gate, &r.Breakers[i])
		}
	}
}

type drawGate func(t tone, name, format string, args ...any)

func (r Rollout) approvalGate(gate drawGate) {
	answer := r.Remediation.Status.Approval
	wave, awaits := r.Remediation.AwaitsApproval()
	switch {
	case !awaits && answer == nil:
	case awaits && r.phase().Final():
		gate(faint, "approval", "nobody has answered before the plan ended")
	case awaits && wave > 0:
		gate(busy, "approval", "nobody has answered after %s; answer: evenkeel rollout approve|reject %s",
			prose.Count(wave, "wave"), r.Remediation.Name)
	case awaits:
		gate(busy, "approval", "nobody has answered; answer: evenkeel rollout approve|reject %s", r.Remediation.Name)
	case answer.Decision == v1alpha1.DecisionReject:
		gate(bad, "approval", "rejected by %s %s ago. %s", answer.Approver, r.ago(answer.DecisionTime.Time),
			answer.Comment)
	default:
		comment := ""
		if answer.Comment != "" {
			comment = ". " + answer.Comment
		}
		gate(good, "approval", "approved by %s %s ago%s", answer.Approver, r.ago(answer.DecisionTime.Time), comment)
	}
}

func (r Rollout) windowGate(gate drawGate) {
	override := v1alpha1.LatestRequest(v1alpha1.Requests(r.Remediation), v1alpha1.ActionOverrideWindows,
		v1alpha1.ActionRespectWindows)
	switch reason := r.Remediation.Status.Reason; {
	case r.Remediation.Spec.IgnoresWindows():
		gate(busy, "window", "windows and freezes are overridden by %s; take it back: evenkeel rollout "+
			"override-windows %s --undo", override, r.Remediation.Name)
		return
	case reason == v1alpha1.ReasonFrozen:
		gate(busy, "freeze", "%s", r.Remediation.Status.Message)
	case reason == v1alpha1.ReasonFreezesUnreadable:
		gate(bad, "freeze", "%s", r.Remediation.Status.Message)
	}
	windows := r.Remediation.Spec.Plan.Rollout.Windows
	if len(windows) == 0 {
		return
	}
	state, err := canary.WindowState(windows, r.Now)
	switch {
	case err != nil:
		gate(bad, "window", "counts as closed: %v", err)
	case state.Open && state.Closes.IsZero():
		gate(good, "window", "open")
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
	namespace, holds := r.keptBackBy(cb), BreakerHolds(cb, r.Now)
	switch {
	case namespace != "":
		gate(busy, "breaker", "namespace %s alone is kept back: %s", namespace, holds)
	case holds == "":
		gate(good, "breaker", "%s is Closed, %d of %s failed", cb.Name, cb.Status.Failures,
			prose.Count(cb.Status.Outcomes, "outcome"))
	case !cb.Spec.ForcedOpen(r.Now) && cb.Status.State == v1alpha1.BreakerHalfOpen:
		gate(busy, "breaker", "%s", holds)
	default:
		gate(bad, "breaker", "%s", holds)
	}
}

// keptBackBy is the one namespace that a breaker keeps back of a plan that goes on
// elsewhere; empty when it keeps back nothing, or all of the plan.
func (r Rollout) keptBackBy(cb *v1alpha1.RemediationBreaker) string {
	only := cb.Spec.Scope.Namespace
	if cb.Spec.Scope.Type != v1alpha1.BreakerScopeNamespace {
		if only = cb.Status.OnlyNamespace; cb.Spec.ForcedOpen(r.Now) {
			return "" // a person holds it open for all
		}
	}
	if !r.isOpen(cb) || !r.anyTarget(func(namespace string) bool { return namespace != only }) {
		return ""
	}
	return only
}

// isOpen says whether a breaker keeps writes back, by itself or by a person's word.
func (r Rollout) isOpen(cb *v1alpha1.RemediationBreaker) bool { return BreakerHolds(cb, r.Now) != "" }

// BreakerHolds says what a breaker that keeps writes back at a time waits for; empty for one that is closed.
func BreakerHolds(cb *v1alpha1.RemediationBreaker, now time.Time) string {
	switch {
	case cb.Spec.ForcedOpen(now):
		return fmt.Sprintf("%s is held open by a person%s (%s); release: evenkeel breaker close %s", cb.Name,
			v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime), cb.ForcedBy(), cb.Name)
	case cb.Status.State == v1alpha1.BreakerOpen:
		return fmt.Sprintf("%s is Open (%s): %s", cb.Name, cb.Status.Reason, cb.Status.Message)
	case cb.Status.State == v1alpha1.BreakerHalfOpen:
		return fmt.Sprintf("%s is HalfOpen: %s", cb.Name, cb.Status.Message)
	}
	return ""
}
