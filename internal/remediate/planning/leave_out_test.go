// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// What is left out of a draft is told to people, with what to do.
func TestALeftOutNamespaceIsTold(t *testing.T) {
	const hers = "eve"
	c := breakertest.New(t).In(hers, "shop")
	ended := metav1.NewMicroTime(c.Time.Now())
	plans := []v1alpha1.Remediation{
		{Spec: c.Plan("p").Spec, Status: v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseRolledBack,
			Reason: v1alpha1.ReasonVerificationFailed, FailedIn: []string{hers}, CompletionTime: &ended}}}
	plans[0].Name = "tags-failed"
	found := []policy.Finding{{Kind: "Deployment", Namespace: hers, Name: "a", UID: "a", Fixable: true},
		{Kind: "Deployment", Namespace: "shop", Name: "b", UID: "b", Fixable: true}}
	pol := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "policy-uid"}}
	d := draft{policy: pol, revision: c.Revision("tags"), plans: plans}
	d.strategy.SetDefaults()
	d.rollout.Mode = v1alpha1.RemediationAutomatic
	d.leaveOut(c.Time.Now(), found)
	d.ineligible = []candidate{{object: v1alpha1.ObjectReference{Kind: "Deployment", Namespace: hers, Name: "a"},
		reason: d.leftOut[hers].Reason, message: d.leftOut[hers].Message}}
	if got := d.outside(); !strings.Contains(
		got, "1 object of namespace eve is left out: plan tags-failed failed in namespace eve") ||
		!strings.Contains(got, "evenkeel rollout retry tags-failed") {
		t.Errorf("people are told %q", got)
	}
	if got := d.leftOut[hers].Reason; got != v1alpha1.ReasonNamespaceFailed {
		t.Errorf("her objects are recorded as %q", got)
	}
	plans[0].Spec.RetryToken = "again"
	if d.leaveOut(c.Time.Now(), found); len(d.leftOut) > 0 {
		t.Errorf("a person has said to try again, and left out is %v", d.leftOut)
	}
	d.keptBack = map[string]string{hers: "open"}
	if d.leaveOut(c.Time.Now(), found); d.leftOut[hers] != (LeftOut{v1alpha1.ReasonBreakerOpen, "open"}) {
		t.Errorf("while a breaker keeps her namespace back, left out is %v", d.leftOut)
	}
	if d.leaveOut(c.Time.Now(), found[:1]); len(d.leftOut) > 0 {
		t.Errorf("nothing else violates, and left out is %v", d.leftOut)
	}
	if kept := history.SetAside(&v1alpha1.ClusterRegoPolicy{ObjectMeta: pol.ObjectMeta}, plans, "",
		c.Time.Now()); len(kept) != 1 {
		t.Errorf("while the revision isn't known, the plan that blames her is pruned: %v", kept)
	}
}
