// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/test/breakertest"
)

func TestAPlanIsMadeAgainAfterAnOutage(t *testing.T) {
	minute := func(n int) time.Time { return breakertest.Noon.Add(time.Duration(n) * time.Minute) }
	ended := func(name, reason string, at time.Time) v1alpha1.Remediation {
		rem := v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: name}}
		rem.Spec.Plan.Policy = v1alpha1.PlannedPolicy{Name: "tags", UID: "p1", Revision: "r1"}
		then := metav1.NewMicroTime(at)
		rem.Status.Phase, rem.Status.Reason, rem.Status.CompletionTime = v1alpha1.PhaseAborted, reason, &then
		return rem
	}
	outage := v1alpha1.ReasonNoAnswer
	cases := map[string]struct {
		reason string
		plans  []v1alpha1.Remediation
		retry  string
		early  bool
	}{
		"after half a minute": {
			"a minute is the first wait",
			[]v1alpha1.Remediation{ended("a", outage, breakertest.Noon.Add(-30*time.Second))}, "", true},
		"after a minute": {"it is over", []v1alpha1.Remediation{ended("a", outage, minute(-1))}, "",
			false},
		"the third time, after a minute": {
			"four minutes are the third wait",
			[]v1alpha1.Remediation{ended("a", outage, minute(-9)), ended("b", outage, minute(-5)),
				ended("c", outage, minute(-1))}, "", true},
		"when a person says so": {
			"at once", []v1alpha1.Remediation{ended("a", outage, breakertest.Noon.Add(-30*time.Second))}, "a", false},
		"under a clock a year ahead": {"an end that is still to come is no later than now",
			[]v1alpha1.Remediation{ended("a", outage, minute(525600))}, "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pol := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "p1"}}
			for i := range tc.plans {
				if tc.plans[i].Name == tc.retry {
					tc.plans[i].Spec.RetryToken = "again"
				}
			}
			p := &Planner{drafter: drafter{clock: clocktesting.NewFakePassiveClock(breakertest.Noon)},
				announced: newAnnouncements(), interval: DefaultInterval, delay: DefaultDelay,
				events: events.NewRecorder(clientevents.NewFakeRecorder(10))}
			wait, early := p.tooEarly(t.Context(), pol, tc.plans, "r1", nil)
			if early != tc.early || wait > p.interval {
				t.Errorf("%s: too early %t, wait %s", tc.reason, early, wait)
			}
		})
	}
}
