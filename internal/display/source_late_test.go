// SPDX-License-Identifier: Apache-2.0

package display

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestARepositoryThatIsntAskedInTimeIsToldAtOnce(t *testing.T) {
	now := time.Unix(100000, 0)
	cases := map[string]struct {
		in   time.Duration
		want string
	}{
		"it is to come":           {4 * time.Minute, "asked again in 4m"},
		"it is late, by a little": {-77 * time.Second, "should have been asked 77s ago"},
		"it is overdue":           {-time.Hour, "was to be asked again 60m ago"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			src := &v1alpha1.PolicySource{}
			src.Status.NextAttemptTime = &metav1.Time{Time: now.Add(tc.in)}
			if got := (Source{PolicySource: src, Now: now}).next(); got != tc.want {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}
