// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// A source is never told as read without saying how long ago, nor while it is late.
func TestOfSourcesItIsSaidHowLongAgoTheyWereRead(t *testing.T) {
	now := time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		due    time.Duration // from now
		status Status
		says   string
	}{
		"it is in order": {time.Minute, OK, "1 source is read, least lately ns/rules, 4m ago"},
		"it is just due": {-10 * time.Second, OK, "4m ago"},
		"it is late":     {-time.Minute, Warn, "is late: it was to be asked again 60s ago, and was read 4m ago"},
		"it is overdue":  {-time.Hour, Fail, "was to be asked again 60m ago, and hasn't been"},
	} {
		t.Run(name, func(t *testing.T) {
			src := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rules"}}
			src.Status.Conditions = kube.Ready(v1alpha1.ReasonCompiled, "in force")
			src.Status.LastFetchedTime = &metav1.Time{Time: now.Add(-4 * time.Minute)}
			src.Status.NextAttemptTime = &metav1.Time{Time: now.Add(tc.due)}
			in := &Installation{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(src).Build(),
				Clock: clocktesting.NewFakePassiveClock(now), working: &working{yes: true}}
			found := sources(t.Context(), in)
			if len(found) != 1 || found[0].Status != tc.status || !strings.Contains(found[0].Message, tc.says) {
				t.Errorf("found %+v, want %s with %q", found, tc.status, tc.says)
			}
		})
	}
}
