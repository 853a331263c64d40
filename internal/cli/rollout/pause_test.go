// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

// clusterOf is a cluster with a plan; with old definitions it drops the end of a pause.
func clusterOf(t *testing.T, rem *v1alpha1.Remediation, old bool) client.Client {
	t.Helper()
	return commandline.Cluster(t, rem, func(answered client.Object) {
		if stored, ok := answered.(*v1alpha1.Remediation); ok && old {
			stored.Spec.PausedUntilTime = nil
		}
	})
}

func TestAPauseLastsAsLongAsItIsAskedFor(t *testing.T) {
	end := metav1.NewTime(time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC))
	later := metav1.NewTime(end.Add(time.Hour))
	for name, tc := range map[string]struct {
		before, until *metav1.Time
		old           bool
		want          string
	}{
		"for good":     {want: "remediation p-1 paused"},
		"until a time": {until: &end, want: "remediation p-1 paused until 2027-01-07T08:00:00Z"},
		"until a later time": {before: &end, until: &later,
			want: "remediation p-1 paused until 2027-01-07T09:00:00Z"},
		"for good, no more until a time": {before: &end, want: "remediation p-1 paused"},
		"where the cluster drops the end": {until: &end, old: true,
			want: "remediation p-1 is paused, and without an end"},
	} {
		t.Run(name, func(t *testing.T) {
			rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "p-1"}}
			if tc.before != nil {
				rem.Spec.DesiredState, rem.Spec.PausedUntilTime = v1alpha1.StatePaused, tc.before
			}
			c := clusterOf(t, rem, tc.old)
			said, err := pause(t.Context(), c, rem, tc.until, "INC-42")
			if tc.old {
				if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
					t.Errorf("said %q, %v, want %q", said, err, tc.want)
				}
				return
			}
			if err != nil || said != tc.want {
				t.Errorf("said %q, %v, want %q", said, err, tc.want)
			}
			stored := &v1alpha1.Remediation{}
			if err := c.Get(t.Context(), client.ObjectKey{Name: "p-1"}, stored); err != nil {
				t.Fatal(err)
			}
			if stored.Spec.DesiredState != v1alpha1.StatePaused || !stored.Spec.PausedUntilTime.Equal(tc.until) ||
				stored.Spec.Reason != "INC-42" {
				t.Errorf("stored: %+v", stored.Spec)
			}
		})
	}
}

func TestWhatEndsAPauseTakesItsEndAway(t *testing.T) {
	end := metav1.NewTime(time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC))
	for name, word := range map[v1alpha1.DesiredState]func(context.Context, client.Client, *v1alpha1.Remediation,
		string) (string, error){v1alpha1.StateRunning: resume, v1alpha1.StateAborted: abort} {
		rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "p-1"}}
		rem.Spec.DesiredState, rem.Spec.PausedUntilTime = v1alpha1.StatePaused, &end
		c := clusterOf(t, rem, false)
		if _, err := word(t.Context(), c, rem, ""); err != nil || rem.Spec.DesiredState != name ||
			rem.Spec.PausedUntilTime != nil {
			t.Errorf("%s: %v, stored %+v", name, err, rem.Spec)
		}
	}
}

func TestAPauseThatHasPassedIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"p --for -1h":                             "--for -1h0m0s: a pause ends in time to come",
		"p --until 2020-01-01T00:00:00Z":          "a pause ends in time to come, and it is ",
		"p --until noon":                          "give one such as 2027-01-07T08:00:00Z",
		"p --for 1h --until 2099-01-01T00:00:00Z": "--for and --until both say when a pause ends",
	} {
		_, message, code := commandline.Invoke(t, NewCommand(), append([]string{"pause"}, strings.Fields(args)...)...)
		if code != command.ExitUsage || !strings.Contains(message, want) {
			t.Errorf("%s: code %d, %q; want %d and %q", args, code, message, command.ExitUsage, want)
		}
	}
}
