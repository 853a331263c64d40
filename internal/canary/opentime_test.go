// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func TestOpenFor(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	cases := map[string]struct {
		reason  string
		windows []v1alpha1.PlannedWindow
		d       time.Duration
		want    time.Time
	}{
		"Without windows all time counts": {"", nil, 3 * time.Hour, noon.Add(3 * time.Hour)},
		"A window that can't be read counts as all": {
			"it has a reason of its own", []v1alpha1.PlannedWindow{window("never", time.Hour, "")}, time.Hour,
			noon.Add(time.Hour)},
		"Within one opening": {
			"from 22:00 on", []v1alpha1.PlannedWindow{window("0 22 * * *", 8*time.Hour, "")}, time.Hour,
			noon.Add(11 * time.Hour)},
		"Over several openings": {
			"the third hour of three nights", []v1alpha1.PlannedWindow{window("0 22 * * *", time.Hour, "")},
			3 * time.Hour, noon.Add(10*time.Hour + 2*day + time.Hour)},
		"From within a window": {
			"half an hour is left of it", []v1alpha1.PlannedWindow{window("30 11 * * *", time.Hour, "")}, time.Hour,
			noon.Add(day)},
		"Time that is denied doesn't count": {
			"an hour from noon on is denied", []v1alpha1.PlannedWindow{denied(window("0 12 * * *", time.Hour, ""))},
			2 * time.Hour, noon.Add(3 * time.Hour)},
		"Denied always": {
			"it never had the time", []v1alpha1.PlannedWindow{denied(window("* * * * *", time.Minute, ""))},
			time.Hour, time.Time{}},
		"A window of a day that never comes": {
			"30 February is refused as a schedule", []v1alpha1.PlannedWindow{window("0 0 30 2 *", time.Hour, "")},
			time.Hour, noon.Add(time.Hour)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := canary.OpenFor(tc.windows, noon, tc.d); !got.Equal(tc.want) {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
