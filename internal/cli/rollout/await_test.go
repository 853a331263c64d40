// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestAWatchOfAPolicyWaitsForThePlanThatIsToCome(t *testing.T) {
	const changed, retried = "has changed since plan tags-1 ended", "is to be planned again after plan tags-1"
	type state struct {
		policy  v1alpha1.ClusterRegoPolicy
		plan    v1alpha1.Remediation
		demoted bool
	}
	cases := map[string]struct {
		change func(*state)
		want   string
	}{
		"The latest plan is of the revision in force": {func(*state) {}, ""},
		"The plan is at work": {func(s *state) {
			s.plan.Status.Phase, s.policy.Status.Revision = v1alpha1.PhaseApplying, "new"
		}, ""},
		"The revision is another":            {func(s *state) { s.policy.Status.Revision = "new" }, changed},
		"The policy's change isn't seen yet": {func(s *state) { s.policy.Generation++ }, changed},
		"A person said to try again":         {func(s *state) { s.plan.Spec.RetryToken = "again" }, retried},
		"What a person said has had its time": {func(s *state) {
			s.plan.Spec.RetryToken, s.plan.Status.LastHandledRetryToken = "again", "again"
		}, ""},
		"A dry run ended, and more is wanted": {func(s *state) {
			s.plan.Status.Phase = v1alpha1.PhasePreviewed
		}, changed},
		"A dry run ended, and no more is allowed": {func(s *state) {
			s.plan.Status.Phase, s.demoted = v1alpha1.PhasePreviewed, true
		}, ""},
		"A dry run ended, and no more is wanted": {func(s *state) {
			s.plan.Status.Phase, s.policy.Spec.Remediation.Mode = v1alpha1.PhasePreviewed, v1alpha1.RemediationDryRun
		}, ""},
		"Nothing violates any more": {func(s *state) {
			s.policy.Status.Revision, s.policy.Status.Scan.Violating = "new", 0
		}, ""},
		"No plan is ever made": {func(s *state) {
			s.policy.Status.Revision, s.policy.Spec.Remediation.Mode = "new", v1alpha1.RemediationDisabled
		}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := state{policy: v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags", Generation: 2}},
				plan: v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "tags-1"}}}
			s.policy.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
			s.policy.Status = v1alpha1.RegoPolicyStatus{
				ObservedGeneration: 2, Revision: "old",
				Scan: &v1alpha1.ScanStatus{State: v1alpha1.ScanComplete, Violating: 3}}
			s.plan.Spec.Plan.Policy.Revision, s.plan.Status.Phase = "old", v1alpha1.PhaseRolledBack
			tc.change(&s)
			got := another(&s.policy, &s.plan, s.demoted)
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
