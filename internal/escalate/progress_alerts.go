// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

const (
	// noProgressFactor is how many times the escalation deadline a plan may make no
	// progress: a plan that is held all the time is an alert of its own before.
	noProgressFactor = 2
	// flapFactor is how many times deadline plus soak the rollout itself gives a wave
	// that is written.
	flapFactor = 3
)

// idleFinding is the alert of a policy's plan that makes no progress. It comes
// beside what planFindings say of the policy's plans, for an earlier one may still
// have left failures. That the plan is held for too long says more, also where an
// earlier plan's fault is said in its place.
func idleFinding(w *world, policy string, now time.Time) (finding, bool) {
	plans := w.plans[policy]
	if len(plans) == 0 {
		return finding{}, false
	}
	latest := w.plan(plans[len(plans)-1])
	if _, isStuck := stuck(latest); isStuck {
		return finding{}, false
	}
	if f, isHeld := held(latest); isHeld && f.noLater(now).fires(now) {
		return finding{}, false
	}
	return noProgress(latest)
}

// noProgress: nothing was begun or settled for long, though the plan may have come
// and gone between phases all the while: a budget that is spent for ever, permissions that
// single targets lack, metrics that answer on and off. Time outside the maintenance
// windows doesn't count, and neither does what a person or a freeze has stopped.
func noProgress(p plan) (finding, bool) {
	facts := p.Status.Phase.Facts()
	// Each of these has an alert of its own, or is a person's to know of.
	others := facts.AsksPerson || facts.Reverts ||
		p.Status.Reason == v1alpha1.ReasonPaused || p.Status.Reason == v1alpha1.ReasonPolicyOverridden ||
		p.Status.Reason == v1alpha1.ReasonFrozen
	if p.Status.WaveFailed() || others || facts.Final {
		return finding{}, false
	}
	patience := noProgressFactor * p.deadline()
	if p.Status.Counts.InFlight > 0 {
		patience += flapFactor * (p.Spec.Plan.Rollout.ProgressDeadline.Duration + p.Spec.Plan.LongestSoak())
	}
	return finding{alert: AlertRemediationNoProgress, urgency: normal, since: p.progressedAt(),
		due: canary.OpenFor(p.Spec.Plan.Rollout.Windows, p.progressedAt(), patience),
		summary: fmt.Sprintf("Plan %s of policy %s has made no progress for more than %s", p.Name,
			p.Spec.Plan.Policy.Name, patience),
		description: p.text(
			fmt.Sprintf("No target was begun or settled since %s, whatever phases the plan has gone through. "+
				"Violations remain.", p.progressedAt().UTC().Format(time.RFC3339)),
			"see what it waits for: the plan's message, its targets' reasons, and the other plans in progress: "+
				"kubectl get remediations")}, true
}

func (p plan) progressedAt() time.Time {
	if p.Status.ProgressedTime != nil {
		return p.Status.ProgressedTime.Time
	}
	return p.phaseStart()
}
