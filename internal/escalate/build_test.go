// SPDX-License-Identifier: Apache-2.0

package escalate_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
	"evenkeel.dev/evenkeel/test/fixture"
)

// now is when the states of the tests are looked at.
var now = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.MicroTime {
	t := metav1.NewMicroTime(now.Add(-d))
	return &t
}

func options() escalate.AlertOptions {
	return escalate.AlertOptions{Cluster: "prod-1", Namespace: "evenkeel-system", Owner: "platform"}
}

// policy is one that is in force, scanned, and violated by three objects.
func policy(modify ...func(*v1alpha1.ClusterRegoPolicy)) v1alpha1.ClusterRegoPolicy {
	p := v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "labels", UID: types.UID("uid-1")}}
	p.Spec.Owner, p.Spec.Severity, p.Spec.RunbookURL = "shop", v1alpha1.SeverityHigh, "https://example.com/labels"
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	p.Status.Revision = "r1"
	p.Status.Scan = &v1alpha1.ScanStatus{State: v1alpha1.ScanComplete, Scanned: 9, Violating: 3}
	ready("True", v1alpha1.ReasonCompiled, time.Hour)(&p)
	for _, m := range modify {
		m(&p)
	}
	return p
}

func ready(status metav1.ConditionStatus, reason string, since time.Duration) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) {
		p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason,
			Message: "the message", LastTransitionTime: metav1.NewTime(now.Add(-since))}}
	}
}

func violating(n int32) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Status.Scan.Violating = n }
}

func severity(s v1alpha1.Severity) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Severity = s }
}

// plan is a plan of policy's, made two hours ago, that came into its phase ten
// minutes ago.
func plan(name string, phase v1alpha1.RemediationPhase, modify ...func(*v1alpha1.Remediation)) v1alpha1.Remediation {
	r := v1alpha1.Remediation{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-2 * time.Hour))}}
	r.Spec.Plan.Policy = v1alpha1.PlannedPolicy{Name: "labels", UID: "uid-1", Revision: "r1", Owner: "shop-of-then"}
	r.Spec.Plan.Rollout, r.Spec.Plan.Waves = fixture.Planned(v1alpha1.RemediationDisabled), fixture.PlannedWaves(1, 4)
	r.Status.Phase, r.Status.PhaseStartTime = phase, ago(10*time.Minute)
	r.Status.Reason, r.Status.Message = "TheReason", "what happened"
	for _, m := range modify {
		m(&r)
	}
	return r
}

func completed(d time.Duration) func(*v1alpha1.Remediation) {
	return func(r *v1alpha1.Remediation) { r.Status.CompletionTime = ago(d) }
}

func created(d time.Duration) func(*v1alpha1.Remediation) {
	return func(r *v1alpha1.Remediation) { r.CreationTimestamp = metav1.NewTime(now.Add(-d)) }
}

func heldSince(d time.Duration) func(*v1alpha1.Remediation) {
	return func(r *v1alpha1.Remediation) { r.Status.HeldTime = ago(d) }
}

func reason(reason string) func(*v1alpha1.Remediation) {
	return func(r *v1alpha1.Remediation) { r.Status.Reason = reason }
}

func failedIn(namespaces ...string) func(*v1alpha1.Remediation) {
	return func(r *v1alpha1.Remediation) { r.Status.FailedIn = namespaces }
}

func counts(c v1alpha1.TargetCounts) func(*v1alpha1.Remediation) {
	return func(r *v1alpha1.Remediation) { r.Status.Counts = c }
}

func breaker(scope v1alpha1.BreakerScopeType, policy string, state v1alpha1.BreakerState,
	modify ...func(*v1alpha1.RemediationBreaker)) v1alpha1.RemediationBreaker {
	cb := v1alpha1.RemediationBreaker{
		ObjectMeta: metav1.ObjectMeta{Name: "the-breaker", CreationTimestamp: metav1.NewTime(now.Add(-3 * time.Hour))}}
	cb.Spec.Scope = v1alpha1.BreakerScope{Type: scope, Policy: policy}
	cb.Status.State, cb.Status.Reason, cb.Status.Message = state, "CanaryFailed", "The canary failed."
	if state != v1alpha1.BreakerClosed {
		cb.Status.OpenedTime = ago(5 * time.Minute)
	}
	for _, m := range modify {
		m(&cb)
	}
	return cb
}

func demoted(revision string) func(*v1alpha1.RemediationBreaker) {
	return func(cb *v1alpha1.RemediationBreaker) {
		cb.Status.Demoted = &v1alpha1.BreakerDemotion{
			StartTime: *ago(time.Minute), Revision: revision, Message: "It opened three times."}
	}
}

// retried is a plan that a person has said to try again.
func retried(p *v1alpha1.Remediation) { p.Spec.RetryToken = "again" }
