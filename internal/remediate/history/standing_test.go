// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// planThatEnded is a plan of revision r1 that ended after so many hours.
func planThatEnded(name string, phase v1alpha1.RemediationPhase, reason string, hours int) v1alpha1.Remediation {
	rem := *fixtest.Ended(fixtest.Now.Add(time.Duration(hours) * time.Hour))
	rem.Name, rem.Spec.Plan.Policy.Name, rem.Spec.Plan.Policy.UID = name, "p", "p1"
	rem.Status.Phase, rem.Status.Reason = phase, reason
	return rem
}

// sayRetry is a person who says to try again after the plan of a name.
func sayRetry(rem *v1alpha1.Remediation, name string) {
	if rem.Name == name {
		rem.Spec.RetryToken = "again"
	}
}

func TestUndonePlansBlock(t *testing.T) {
	first := planThatEnded("plan-1", v1alpha1.PhaseRolledBack, v1alpha1.ReasonUndone, 5)
	second := planThatEnded("plan-2", v1alpha1.PhaseSucceeded, v1alpha1.ReasonAllTargetsSettled, 2)
	third := planThatEnded("plan-3", v1alpha1.PhaseRollbackIncomplete, v1alpha1.ReasonUndone, 6)
	incomplete := planThatEnded("plan-1", v1alpha1.PhaseRollbackIncomplete, v1alpha1.ReasonUndone, 5)
	cases := map[string]struct {
		reason, revision, retry string
		plans                   []v1alpha1.Remediation
		want                    string
	}{
		"An undone plan keeps its revision from being planned though a later one succeeded": {
			reason: "what was undone violates again, and would be fixed at once", revision: "r1",
			plans: []v1alpha1.Remediation{first, second}, want: "plan-1"},
		"One whose undo is incomplete does too": {
			reason: "what could be undone would be fixed at once", revision: "r1",
			plans: []v1alpha1.Remediation{incomplete, second}, want: "plan-1"},
		"Another revision is planned": {
			reason: "the policy was fixed", revision: "r2", plans: []v1alpha1.Remediation{first, second}},
		"A person may say to try again": {
			reason: "the token is the plan's", revision: "r1", retry: "plan-1",
			plans: []v1alpha1.Remediation{first, second}},
		"To try again counts for what had ended by then only": {
			reason: "the token is that of an earlier plan", revision: "r1", retry: "plan-2",
			plans: []v1alpha1.Remediation{first, second}, want: "plan-1"},
		"Of two that were undone, the later is named": {
			reason: "to name it forgives both", revision: "r1", plans: []v1alpha1.Remediation{first, second, third},
			want: "plan-3"},
		"To forgive the later forgives both": {
			reason: "it ended last", revision: "r1", retry: "plan-3",
			plans: []v1alpha1.Remediation{first, second, third}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pol := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p1"}}
			plans := slices.Clone(tc.plans)
			for i := range plans {
				sayRetry(&plans[i], tc.retry)
			}
			why := Blocked(pol, plans, tc.revision, StandingOf(pol, plans, tc.revision, fixtest.Now),
				nil)
			_, got, _ := strings.Cut(why, "evenkeel rollout retry ")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %q (-want +got)\n%s", tc.reason, why, diff)
			}
		})
	}
}
