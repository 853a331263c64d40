// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
)

func TestAClockThatWentBack(t *testing.T) {
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *metav1.MicroTime {
		m := metav1.NewMicroTime(now.Add(d))
		return &m
	}
	cases := map[string]struct {
		reason       string
		status, want v1alpha1.RemediationStatus
		views, seen  []rollout.TargetView
	}{
		"times that have come stay": {
			reason: "the clock is right",
			status: v1alpha1.RemediationStatus{PhaseStartTime: at(-time.Minute), HealthyTime: at(0)},
			want:   v1alpha1.RemediationStatus{PhaseStartTime: at(-time.Minute), HealthyTime: at(0)},
			views: []rollout.TargetView{{NextAttemptAt: now.Add(targets.MaxBackoff),
				AppliedAt: now.Add(-time.Second)}},
			seen: []rollout.TargetView{{NextAttemptAt: now.Add(targets.MaxBackoff),
				AppliedAt: now.Add(-time.Second)}},
		},
		"times that are still to come begin now": {
			reason: "a soak can't have begun in the future",
			status: v1alpha1.RemediationStatus{PhaseStartTime: at(2 * time.Hour), HealthyTime: at(time.Second),
				WaveStartTime: at(time.Hour), HeldTime: at(time.Hour)},
			want: v1alpha1.RemediationStatus{PhaseStartTime: at(0), HealthyTime: at(0), WaveStartTime: at(0),
				HeldTime: at(0)},
			views: []rollout.TargetView{{NextAttemptAt: now.Add(2 * time.Hour), AppliedAt: now.Add(2 * time.Hour)}},
			seen:  []rollout.TargetView{{AppliedAt: now}},
		},
		"a write that is still to come is as old as its phase": {
			reason: "its deadline must go on", status: v1alpha1.RemediationStatus{PhaseStartTime: at(-time.Minute)},
			want:  v1alpha1.RemediationStatus{PhaseStartTime: at(-time.Minute)},
			views: []rollout.TargetView{{AppliedAt: now.Add(2 * time.Hour)}},
			seen:  []rollout.TargetView{{AppliedAt: now.Add(-time.Minute)}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clampTimes(&tc.status, now)
			clampTargets(tc.views, tc.status, now)
			if diff := cmp.Diff(tc.want, tc.status); diff != "" {
				t.Errorf("%s: status (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.seen, tc.views, cmpopts.IgnoreUnexported(rollout.TargetView{})); diff != "" {
				t.Errorf("%s: targets (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
