// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// soaking is a status whose soak began at a time, by the clock of whoever wrote it.
func soaking(began time.Time) *v1alpha1.RemediationStatus {
	at := metav1.NewMicroTime(began)
	return &v1alpha1.RemediationStatus{HealthyTime: &at}
}

func TestASoakIsMeasuredByThisProcess(t *testing.T) {
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		began  time.Time
	}{
		"another leader's clock was an hour behind": {"its soak would be over at once", now.Add(-time.Hour)},
		"another leader's clock was right":          {"nobody can tell that it was", now.Add(-time.Minute)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, s := newSoakClock(), soaking(tc.began)
			k.measure("a", s, now)
			if !s.HealthyTime.Time.Equal(now) {
				t.Errorf("%s: the soak of another process goes on from %s", tc.reason, s.HealthyTime)
			}
			k.measure("a", s, now.Add(30*time.Second))
			if !s.HealthyTime.Time.Equal(now) {
				t.Errorf("the second look begins the soak again, at %s", s.HealthyTime)
			}
			k.measure("b", soaking(now), now)
			k.measure("a", &v1alpha1.RemediationStatus{}, now)
			k.drop("b")
			if len(k.began) != 0 {
				t.Errorf("a soak that is over is kept: %v", k.began)
			}
		})
	}
}

// Time that has really passed is what a monotonic clock says: the times of Go carry
// its reading along, those that are read back from a status don't.
func TestASoakGoesOnWhenTheClockIsSet(t *testing.T) {
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	k, s := newSoakClock(), soaking(now)
	k.measure("a", s, now)
	moved := k.began["a"]
	moved.measured = moved.measured.Add(time.Hour) // as if the clock had been put forward by an hour
	k.began["a"] = moved
	k.measure("a", s, now.Add(time.Hour+10*time.Second))
	if soaked := now.Add(time.Hour + 10*time.Second).Sub(s.HealthyTime.Time); soaked != 10*time.Second {
		t.Errorf("ten seconds have passed, and the soak counts %s", soaked)
	}
}
