// SPDX-License-Identifier: Apache-2.0

package escalate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
)

// line is what a test expects of an alert.
type line struct {
	Name, Severity, Policy, Owner, Scope string
	// Namespace is left out when it is the controller's own.
	Namespace string
	// Since and Due are how long ago.
	Since, Due time.Duration
	GoesOn     bool
}

func lines(alerts []escalate.Alert) []line {
	var out []line
	for _, a := range alerts {
		l := line{Name: a.Name, Severity: a.Severity, Policy: a.Policy, Owner: a.Owner, Scope: a.Scope,
			GoesOn: a.GoesOn}
		if a.Namespace != "evenkeel-system" {
			l.Namespace = a.Namespace
		}
		if !a.Since.IsZero() {
			l.Since = now.Sub(a.Since)
		}
		if !a.StartsAt.IsZero() {
			l.Due = now.Sub(a.StartsAt)
		}
		out = append(out, l)
	}
	return out
}

// of is an alert of policy's that began and was due the given time ago.
func of(name, severity string, since, due time.Duration) line {
	return line{Name: name, Severity: severity, Policy: "labels", Owner: "shop", Since: since, Due: due}
}

func goesOn(l line) line {
	l.GoesOn = true
	return l
}

func TestAlerts(t *testing.T) {
	failed := counts(v1alpha1.TargetCounts{Done: 5, Failed: 2})
	for name, tc := range map[string]struct {
		policies  []v1alpha1.ClusterRegoPolicy
		plans     []v1alpha1.Remediation
		breakers  []v1alpha1.RemediationBreaker
		evidence  map[string]escalate.Evidence
		want      []line
		wantDueIn time.Duration
	}{
		"a plan at work is no alert": {
			wantDueIn: 50 * time.Minute, // without progress until then
			policies:  []v1alpha1.ClusterRegoPolicy{policy()},
			plans:     []v1alpha1.Remediation{plan("a", v1alpha1.PhaseApplying)},
		},
		"a plan held for less than its deadline isn't due yet": {
			policies:  []v1alpha1.ClusterRegoPolicy{policy()},
			plans:     []v1alpha1.Remediation{plan("a", v1alpha1.PhaseHeld, heldSince(29*time.Minute))},
			wantDueIn: time.Minute,
		},
		"a plan held for longer than its deadline is due since the deadline": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseHeld, heldSince(40*time.Minute))},
			want: []line{of(escalate.AlertRemediationHeld, escalate.SeverityTicket, 40*time.Minute,
				10*time.Minute)},
		},
		"a held plan of a critical policy pages": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(severity(v1alpha1.SeverityCritical))},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseHeld, heldSince(30*time.Minute))},
			want:     []line{of(escalate.AlertRemediationHeld, escalate.SeverityPage, 30*time.Minute, 0)},
		},
		"a plan that waits for its window waits by design": {
			wantDueIn: 50 * time.Minute, // without progress until then
			policies:  []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseHeld, heldSince(9*time.Hour), reason(v1alpha1.ReasonOutsideWindow))},
		},
		"a plan that waits for a freeze to end waits by design": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseHeld, heldSince(900*time.Hour), reason(v1alpha1.ReasonFrozen))},
		},
		"a file of freezes that can't be read waits for a person": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseHeld, heldSince(40*time.Minute), reason(v1alpha1.ReasonFreezesUnreadable))},
			want: []line{of(escalate.AlertRemediationHeld, escalate.SeverityTicket, 40*time.Minute,
				10*time.Minute)},
		},
		"a plan whose windows never open waits for a person": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseHeld, heldSince(40*time.Minute), reason(v1alpha1.ReasonNoWindow))},
			want: []line{of(escalate.AlertRemediationHeld, escalate.SeverityTicket, 40*time.Minute,
				10*time.Minute)},
		},
		"a plan that a person paused is called to mind, even of a critical policy": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(severity(v1alpha1.SeverityCritical))},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseHeld, heldSince(time.Hour), reason(v1alpha1.ReasonPaused))},
			want: []line{of(escalate.AlertRemediationHeld, escalate.SeverityInfo, time.Hour, 30*time.Minute)},
		},
		"a plan that holds a failed wave waits for no deadline, and under no name that an open breaker hides": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseHeld, heldSince(time.Minute), reason(v1alpha1.ReasonVerificationFailed),
					func(r *v1alpha1.Remediation) { r.Status.HeldFrom = v1alpha1.PhaseVerifying })},
			breakers: []v1alpha1.RemediationBreaker{
				breaker(v1alpha1.BreakerScopePolicy, "labels", v1alpha1.BreakerOpen)},
			want: []line{
				{Name: escalate.AlertBreakerOpen, Severity: escalate.SeverityTicket, Policy: "labels",
					Owner: "shop", Scope: "Policy", Since: 5 * time.Minute, Due: 5 * time.Minute},
				of(escalate.AlertWaveFailed, escalate.SeverityPage, time.Minute, time.Minute)},
		},
		"an unanswered plan is due after the approval's timeout": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseAwaitingApproval, heldSince(25*time.Hour))},
			want:     []line{of(escalate.AlertApprovalOverdue, escalate.SeverityTicket, 25*time.Hour, time.Hour)},
		},
		"a plan that was rolled back blocks its policy": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRolledBack, completed(4*time.Minute))},
			want: []line{of(escalate.AlertRemediationRolledBack, escalate.SeverityTicket, 4*time.Minute,
				4*time.Minute)},
		},
		"a plan that was rolled back blocks another revision no more": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(func(p *v1alpha1.ClusterRegoPolicy) {
				p.Status.Revision = "r2"
			})},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRolledBack, completed(4*time.Minute))},
		},
		"a plan that was rolled back blocks nothing once a person says to try again": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRolledBack, completed(4*time.Minute), retried)},
		},
		"a plan that was rolled back blocks nothing after the policy's deletion": {
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRolledBack, completed(4*time.Minute))},
		},
		"a plan that failed in one namespace alone speaks while later ones leave that out": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("b", v1alpha1.PhaseSucceeded, created(time.Minute)),
				plan("a", v1alpha1.PhaseRolledBack, completed(4*time.Minute), failedIn("eve"))},
			want: []line{of(escalate.AlertRemediationRolledBack, escalate.SeverityTicket, 4*time.Minute,
				4*time.Minute)},
		},
		"it speaks no more once a person says to try again": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("b", v1alpha1.PhaseSucceeded, created(time.Minute)),
				plan("a", v1alpha1.PhaseRolledBack, completed(4*time.Minute), failedIn("eve"), retried)},
		},
		"one that failed in several speaks no more once a later one succeeded": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("b", v1alpha1.PhaseSucceeded, created(time.Minute)),
				plan("a", v1alpha1.PhaseRolledBack, completed(4*time.Minute), failedIn("eve", "shop"))},
		},
		"a later plan that isn't due yet hides no page": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseRollbackIncomplete, completed(4*time.Minute), failedIn("eve")),
				plan("b", v1alpha1.PhaseAwaitingApproval, created(time.Minute), heldSince(time.Minute))},
			want: []line{of(escalate.AlertRollbackIncomplete, escalate.SeverityPage, 4*time.Minute,
				4*time.Minute)},
			wantDueIn: 24*time.Hour - time.Minute,
		},
		"of two that are due the more urgent one speaks": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseRollbackIncomplete, completed(26*time.Hour), created(27*time.Hour),
					failedIn("eve")),
				plan("b", v1alpha1.PhaseAwaitingApproval, created(25*time.Hour), heldSince(25*time.Hour))},
			want: []line{of(escalate.AlertRollbackIncomplete, escalate.SeverityPage, 26*time.Hour, 26*time.Hour)},
		},
		"a later plan that is held makes no progress, which isn't said besides": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseRollbackIncomplete, completed(3*time.Hour), created(4*time.Hour),
					failedIn("eve")),
				plan("b", v1alpha1.PhaseHeld, created(2*time.Hour), heldSince(2*time.Hour))},
			want: []line{of(escalate.AlertRollbackIncomplete, escalate.SeverityPage, 3*time.Hour, 3*time.Hour)},
		},
		"a later plan that isn't due yet keeps the failed targets of an earlier one": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Hour), failed),
				plan("b", v1alpha1.PhaseHeld, created(time.Minute), heldSince(time.Minute))},
			want: []line{
				goesOn(of(escalate.AlertRemediationFailedTargets, escalate.SeverityTicket, time.Hour, 0))},
			wantDueIn: 29 * time.Minute,
		},
		"a later plan that isn't due yet keeps what an earlier one left to owners": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Hour),
				counts(v1alpha1.TargetCounts{Skipped: 3})),
				plan("b", v1alpha1.PhaseHeld, created(time.Minute), heldSince(time.Minute))},
			evidence:  map[string]escalate.Evidence{"a": {Left: 3}},
			want:      []line{goesOn(of(escalate.AlertManagedByOther, escalate.SeverityInfo, time.Hour, 0))},
			wantDueIn: 29 * time.Minute,
		},
		"a later plan that is due takes their place": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Hour), failed),
				plan("b", v1alpha1.PhaseHeld, created(40*time.Minute), heldSince(40*time.Minute))},
			want: []line{of(escalate.AlertRemediationHeld, escalate.SeverityTicket, 40*time.Minute,
				10*time.Minute)},
		},
		"only the latest plan counts": {
			wantDueIn: 50 * time.Minute, // without progress until then
			policies:  []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("b", v1alpha1.PhaseApplying, created(time.Minute)),
				plan("a", v1alpha1.PhaseRolledBack, completed(4*time.Minute))},
		},
		"within a second, the plan at work is the latest": {
			wantDueIn: 50 * time.Minute, // without progress until then
			policies:  []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseVerifying), plan("b", v1alpha1.PhaseRolledBack, completed(time.Minute))},
		},
		"a rollback that left conflicts pages, even after the policy's deletion": {
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRollbackIncomplete, completed(time.Minute), failed)},
			want: []line{{Name: escalate.AlertRollbackIncomplete, Severity: escalate.SeverityPage, Policy: "labels",
				Owner: "shop-of-then", Since: time.Minute, Due: time.Minute}},
		},
		"a rollback that left conflicts pages no more once a person says to try again, policy or no policy": {
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseRollbackIncomplete, completed(time.Minute), failed, retried)},
		},
		"nor once the policy was recreated": {
			policies: []v1alpha1.ClusterRegoPolicy{
				policy(func(p *v1alpha1.ClusterRegoPolicy) { p.UID = "uid-2" })},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseRollbackIncomplete, completed(time.Minute), failed, retried)},
		},
		"a rollback that waits for something is stuck at once": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRollingBack, heldSince(time.Minute))},
			want:     []line{of(escalate.AlertRemediationStuck, escalate.SeverityPage, time.Minute, time.Minute)},
		},
		"a rollback that takes longer than the deadline is stuck": {
			policies:  []v1alpha1.ClusterRegoPolicy{policy()},
			plans:     []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRollingBack)},
			wantDueIn: 20 * time.Minute,
		},
		"a plan that can't be read is stuck": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseVerifying, func(r *v1alpha1.Remediation) {
				r.Status.Conditions = []metav1.Condition{
					{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSliceMissing,
						LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}}
			})},
			want: []line{of(escalate.AlertRemediationStuck, escalate.SeverityPage, time.Minute, time.Minute)},
		},
		"targets that couldn't be fixed are an alert while anything violates": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Minute), failed)},
			want: []line{
				goesOn(of(escalate.AlertRemediationFailedTargets, escalate.SeverityTicket, time.Minute, time.Minute))},
		},
		"targets that couldn't be fixed are no alert once nothing violates": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(violating(0))},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Minute), failed)},
		},
		"while the scan isn't complete, failed targets neither begin nor end an alert": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(violating(0), func(p *v1alpha1.ClusterRegoPolicy) {
				p.Status.Scan.State = v1alpha1.ScanPending
			})},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Minute), failed)},
			want: []line{
				goesOn(of(escalate.AlertRemediationFailedTargets, escalate.SeverityTicket, time.Minute, 0))},
		},
		"while the next plan is at work, failed targets neither begin nor end an alert": {
			wantDueIn: 50 * time.Minute, // without progress until then
			policies:  []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Hour), failed),
				plan("b", v1alpha1.PhaseApplying, created(time.Minute))},
			want: []line{goesOn(of(escalate.AlertRemediationFailedTargets, escalate.SeverityTicket, time.Hour, 0))},
		},
		"a plan that came too soon to hold the failed targets doesn't end their alert": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Hour), failed),
				plan("b", v1alpha1.PhaseSucceeded, created(55*time.Minute), completed(50*time.Minute))},
			want: []line{goesOn(of(escalate.AlertRemediationFailedTargets, escalate.SeverityTicket, time.Hour, 0))},
		},
		"a later plan without a failure ends it": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(time.Hour), failed),
				plan("b", v1alpha1.PhaseSucceeded, created(40*time.Minute), completed(30*time.Minute))},
		},
		"failures of a plan that a person ended say nothing of the fix": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseAborted, completed(time.Minute), failed, reason(v1alpha1.ReasonAborted))},
		},
		"objects that another tool manages are their owner's": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseSucceeded, completed(time.Minute), counts(v1alpha1.TargetCounts{Skipped: 3}))},
			evidence: map[string]escalate.Evidence{"a": {Left: 3}},
			want:     []line{goesOn(of(escalate.AlertManagedByOther, escalate.SeverityInfo, time.Minute, time.Minute))},
		},
		"objects that somebody keeps setting back need a person": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseSucceeded, completed(time.Minute), counts(v1alpha1.TargetCounts{Skipped: 3}))},
			evidence: map[string]escalate.Evidence{"a": {Left: 3, Fights: 1}},
			want: []line{
				goesOn(of(escalate.AlertManagedByOther, escalate.SeverityTicket, time.Minute, time.Minute))},
		},
		"objects skipped for other reasons are nobody's alert": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans: []v1alpha1.Remediation{
				plan("a", v1alpha1.PhaseSucceeded, completed(time.Minute), counts(v1alpha1.TargetCounts{Skipped: 3}))},
			evidence: map[string]escalate.Evidence{"a": {}},
		},
		"a policy that doesn't compile is an alert at once": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(ready("False", v1alpha1.ReasonCompileFailed, time.Minute))},
			want:     []line{of(escalate.AlertPolicyNotCompiling, escalate.SeverityTicket, time.Minute, time.Minute)},
		},
		"a policy whose parameters don't fit its template is an alert at once": {
			policies: []v1alpha1.ClusterRegoPolicy{
				policy(ready("False", v1alpha1.ReasonParametersInvalid, time.Minute))},
			want: []line{of(escalate.AlertPolicyNotCompiling, escalate.SeverityTicket, time.Minute, time.Minute)},
		},
		"a policy whose template is still to come is no alert yet": {
			policies: []v1alpha1.ClusterRegoPolicy{
				policy(ready("False", v1alpha1.ReasonTemplateNotFound, time.Minute))},
			wantDueIn: 4 * time.Minute,
		},
		"a policy whose template doesn't come is an alert": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(ready("False", v1alpha1.ReasonTemplateNotFound, time.Hour))},
			want:     []line{of(escalate.AlertPolicyNotCompiling, escalate.SeverityTicket, time.Hour, 55*time.Minute)},
		},
		"a policy whose strategy is still to come is no alert yet": {
			policies: []v1alpha1.ClusterRegoPolicy{
				policy(ready("False", v1alpha1.ReasonStrategyNotFound, time.Minute))},
			wantDueIn: 4 * time.Minute,
		},
		"a policy whose strategy is missing is an alert": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(ready("False", v1alpha1.ReasonStrategyNotFound, time.Hour))},
			want:     []line{of(escalate.AlertPolicyNotCompiling, escalate.SeverityTicket, time.Hour, 55*time.Minute)},
		},
		"a policy whose strategy can't be followed is an alert": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(ready("False", v1alpha1.ReasonStrategyInvalid, time.Hour))},
			want:     []line{of(escalate.AlertPolicyNotCompiling, escalate.SeverityTicket, time.Hour, 55*time.Minute)},
		},
		"a policy of which no revision is in force pages": {
			policies: []v1alpha1.ClusterRegoPolicy{
				policy(ready("False", v1alpha1.ReasonCompileFailed, time.Minute), func(p *v1alpha1.ClusterRegoPolicy) {
					p.Status.Revision = ""
				})},
			want: []line{of(escalate.AlertPolicyNotCompiling, escalate.SeverityPage, time.Minute, time.Minute)},
		},
		"a scan that has just become incomplete doesn't begin an alert": {
			policies: []v1alpha1.ClusterRegoPolicy{
				policy(ready("False", v1alpha1.ReasonScanIncomplete, 10*time.Minute))},
			want: []line{
				goesOn(of(escalate.AlertScanIncomplete, escalate.SeverityTicket, 10*time.Minute, -20*time.Minute))},
			wantDueIn: 20 * time.Minute,
		},
		"a scan that is incomplete for long is an alert": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(ready("False", v1alpha1.ReasonScanIncomplete, time.Hour))},
			want: []line{
				goesOn(of(escalate.AlertScanIncomplete, escalate.SeverityTicket, time.Hour, 30*time.Minute))},
		},
		"a scan that has begun anew neither begins nor ends one": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(ready("Unknown", v1alpha1.ReasonScanning, time.Hour))},
			want:     []line{goesOn(of(escalate.AlertScanIncomplete, escalate.SeverityTicket, 0, 0))},
		},
		"an end of the future was written under another clock: it pages at once": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRollbackIncomplete, completed(-2*time.Hour))},
			want:     []line{of(escalate.AlertRollbackIncomplete, escalate.SeverityPage, 0, 0)},
		},
		"failed targets of a plan that ended in the future are an alert at once": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			plans:    []v1alpha1.Remediation{plan("a", v1alpha1.PhaseSucceeded, completed(-2*time.Hour), failed)},
			want:     []line{goesOn(of(escalate.AlertRemediationFailedTargets, escalate.SeverityTicket, 0, 0))},
		},
		"a deadline counts from now at the latest": {
			policies:  []v1alpha1.ClusterRegoPolicy{policy()},
			plans:     []v1alpha1.Remediation{plan("a", v1alpha1.PhaseHeld, heldSince(-2*time.Hour))},
			wantDueIn: 30 * time.Minute,
		},
		"a breaker that opened in the future is an alert at once": {
			breakers: []v1alpha1.RemediationBreaker{breaker(v1alpha1.BreakerScopeGlobal, "", v1alpha1.BreakerOpen,
				func(cb *v1alpha1.RemediationBreaker) { cb.Status.OpenedTime = ago(-2 * time.Hour) })},
			want: []line{{Name: escalate.AlertBreakerOpen, Severity: escalate.SeverityPage, Owner: "platform",
				Scope: "Global"}},
		},
		"a policy demoted in the future is an alert at once": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			breakers: []v1alpha1.RemediationBreaker{
				breaker(v1alpha1.BreakerScopePolicy, "labels", v1alpha1.BreakerClosed, demoted("r1"),
					func(cb *v1alpha1.RemediationBreaker) { cb.Status.Demoted.StartTime = *ago(-2 * time.Hour) })},
			want: []line{{Name: escalate.AlertPolicyDemoted, Severity: escalate.SeverityTicket, Policy: "labels",
				Owner: "shop", Scope: "Policy"}},
		},
		"a policy that doesn't compile since the future is an alert at once": {
			policies: []v1alpha1.ClusterRegoPolicy{
				policy(ready("False", v1alpha1.ReasonCompileFailed, -2*time.Hour))},
			want: []line{of(escalate.AlertPolicyNotCompiling, escalate.SeverityTicket, 0, 0)},
		},
		"a closed breaker is no alert": {
			breakers: []v1alpha1.RemediationBreaker{breaker(v1alpha1.BreakerScopeGlobal, "", v1alpha1.BreakerClosed)},
		},
		"a policy's breaker belongs to the policy's owner": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			breakers: []v1alpha1.RemediationBreaker{
				breaker(v1alpha1.BreakerScopePolicy, "labels", v1alpha1.BreakerOpen)},
			want: []line{{Name: escalate.AlertBreakerOpen, Severity: escalate.SeverityTicket, Policy: "labels",
				Owner: "shop", Scope: "Policy",
				Since: 5 * time.Minute, Due: 5 * time.Minute}},
		},
		"a half-open breaker goes on firing": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			breakers: []v1alpha1.RemediationBreaker{
				breaker(v1alpha1.BreakerScopePolicy, "labels", v1alpha1.BreakerHalfOpen)},
			want: []line{{Name: escalate.AlertBreakerOpen, Severity: escalate.SeverityTicket, Policy: "labels",
				Owner: "shop", Scope: "Policy",
				Since: 5 * time.Minute, Due: 5 * time.Minute}},
		},
		"the global breaker pages whoever answers for the platform": {
			policies: []v1alpha1.ClusterRegoPolicy{policy(severity(v1alpha1.SeverityLow))},
			breakers: []v1alpha1.RemediationBreaker{breaker(v1alpha1.BreakerScopeGlobal, "", v1alpha1.BreakerOpen)},
			want: []line{{Name: escalate.AlertBreakerOpen, Severity: escalate.SeverityPage, Owner: "platform",
				Scope: "Global",
				Since: 5 * time.Minute, Due: 5 * time.Minute}},
		},
		"a namespace's breaker names the namespace, and whoever answers for the platform": {
			breakers: []v1alpha1.RemediationBreaker{
				breaker(v1alpha1.BreakerScopeNamespace, "", v1alpha1.BreakerOpen,
					func(cb *v1alpha1.RemediationBreaker) {
						cb.Spec.Scope.Namespace = "web"
					})},
			want: []line{{Name: escalate.AlertBreakerOpen, Severity: escalate.SeverityTicket, Owner: "platform",
				Scope: "Namespace", Namespace: "web",
				Since: 5 * time.Minute, Due: 5 * time.Minute}},
		},
		"a demoted policy is an alert after its breaker has closed": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			breakers: []v1alpha1.RemediationBreaker{
				breaker(v1alpha1.BreakerScopePolicy, "labels", v1alpha1.BreakerClosed, demoted("r1"))},
			want: []line{{Name: escalate.AlertPolicyDemoted, Severity: escalate.SeverityTicket, Policy: "labels",
				Owner: "shop", Scope: "Policy",
				Since: time.Minute, Due: time.Minute}},
		},
		"a demoted policy is none once another revision is in force": {
			policies: []v1alpha1.ClusterRegoPolicy{policy()},
			breakers: []v1alpha1.RemediationBreaker{
				breaker(v1alpha1.BreakerScopePolicy, "labels", v1alpha1.BreakerClosed, demoted("r0"))},
		},
		"the kill switch is only called to mind, since somebody threw it": {
			breakers: []v1alpha1.RemediationBreaker{
				breaker(v1alpha1.BreakerScopeGlobal, "", v1alpha1.BreakerClosed, func(cb *v1alpha1.RemediationBreaker) {
					cb.Spec.Mode = v1alpha1.BreakerForcedOpen
					at := metav1.NewTime(now.Add(-time.Minute))
					cb.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Time: &at,
						FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:mode":{}}}`)}}
				})},
			want: []line{{Name: escalate.AlertBreakerOpen, Severity: escalate.SeverityInfo, Owner: "platform",
				Scope: "Global",
				Since: time.Minute, Due: time.Minute}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := escalate.State{Policies: tc.policies, Remediations: tc.plans, Breakers: tc.breakers,
				Evidence: tc.evidence}
			alerts := escalate.Alerts(state, now, options())
			if diff := cmp.Diff(tc.want, lines(alerts)); diff != "" {
				t.Errorf("alerts (-want +got):\n%s", diff)
			}
			for _, a := range alerts {
				if a.Cluster != "prod-1" || a.Namespace == "" || a.Summary == "" || a.Description == "" {
					t.Errorf("%s lacks its cluster, namespace, summary or description: %+v", a.Name, a)
				}
			}
			due := escalate.Due(state, now, options())
			if got := due.Sub(now); due.IsZero() && tc.wantDueIn != 0 || !due.IsZero() && got != tc.wantDueIn {
				t.Errorf("the next is due in %v (zero: %v), want %v", got, due.IsZero(), tc.wantDueIn)
			}
		})
	}
}

func TestTheAlertNamesTheStrategyThatIsMissed(t *testing.T) {
	for reason, want := range map[string]string{
		v1alpha1.ReasonStrategyNotFound: "Nothing is remediated by policy labels: its RemediationStrategy careful " +
			"is missing",
		v1alpha1.ReasonStrategyInvalid: "Nothing is remediated by policy labels: its RemediationStrategy careful " +
			"can't be followed",
	} {
		refers := func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "careful"}
		}
		state := escalate.State{
			Policies: []v1alpha1.ClusterRegoPolicy{policy(ready("False", reason, time.Hour), refers)}}
		if alerts := escalate.Alerts(state, now, options()); len(alerts) != 1 || alerts[0].Summary != want {
			t.Errorf("%s: alerts %+v, want %q", reason, alerts, want)
		}
	}
}

func TestAnIncompleteRollbackWithoutItsPolicySaysHowItsAlertEnds(t *testing.T) {
	for want, policies := range map[string][]v1alpha1.ClusterRegoPolicy{
		"then fix the policy or say to try again: evenkeel rollout retry a":     {policy()},
		"then end this alert, for the policy is gone: evenkeel rollout retry a": nil,
	} {
		alerts := escalate.Alerts(escalate.State{Policies: policies, Remediations: []v1alpha1.Remediation{
			plan("a", v1alpha1.PhaseRollbackIncomplete, completed(time.Minute))}}, now, options())
		if len(alerts) != 1 || !strings.HasSuffix(alerts[0].Description, want) {
			t.Errorf("the alerts are %+v, want %q at the end", alerts, want)
		}
	}
}
