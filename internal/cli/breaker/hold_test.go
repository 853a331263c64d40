// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
	"evenkeel.dev/evenkeel/test/recorded"
)

// clusterOf is a cluster with a breaker; with old definitions it drops the end of a hold.
func clusterOf(t *testing.T, cb *v1alpha1.RemediationBreaker, old bool) client.Client {
	t.Helper()
	return commandline.Cluster(t, cb, func(answered client.Object) {
		if stored, ok := answered.(*v1alpha1.RemediationBreaker); ok && old {
			stored.Spec.ForcedOpenUntilTime = nil
		}
	})
}

func TestAHoldLastsAsLongAsItIsAskedFor(t *testing.T) {
	end := metav1.NewTime(time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC))
	const is, begins = "circuit breaker global is held open", ": no new write begins in its scope; rollbacks go on"
	for name, tc := range map[string]struct {
		before, until *metav1.Time
		old           bool
		want          string
	}{
		"for good":                        {want: is + begins},
		"until a time":                    {until: &end, want: is + " until 2027-01-07T08:00:00Z" + begins},
		"for good, no more until a time":  {before: &end, want: is + begins},
		"where the cluster drops the end": {until: &end, old: true, want: is + ", and without an end"},
	} {
		t.Run(name, func(t *testing.T) {
			cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global"}}
			if tc.before != nil {
				cb.Spec.Mode, cb.Spec.ForcedOpenUntilTime = v1alpha1.BreakerForcedOpen, tc.before
			}
			c := clusterOf(t, cb, tc.old)
			said, err := hold(t.Context(), c, "global", tc.until, "INC-42")
			if tc.old {
				if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
					t.Errorf("said %q, %v, want %q", said, err, tc.want)
				}
				return
			}
			stored, findErr := findBreaker(t.Context(), c, "global")
			if err != nil || findErr != nil || said != tc.want || stored.Spec.Mode != v1alpha1.BreakerForcedOpen ||
				!stored.Spec.ForcedOpenUntilTime.Equal(tc.until) || stored.Spec.Reason != "INC-42" {
				t.Errorf("said %q, %v, %v, want %q; stored %+v", said, err, findErr, tc.want, stored.Spec)
			}
			let, err := askMode(t.Context(), c, "global", v1alpha1.BreakerAutomatic, nil, "")
			if err != nil || let.Spec.ForcedOpenUntilTime != nil || let.Spec.Mode != v1alpha1.BreakerAutomatic {
				t.Errorf("let go of: %+v, %v", let, err)
			}
		})
	}
}

func TestAHoldThatHasPassedIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"global --for 0s":                     "--for 0s: the hold of a breaker ends in time to come",
		"global --until 2020-01-01T00:00:00Z": "the hold of a breaker ends in time to come, and it is ",
		"global --until 2099-01-01":           "give one such as 2027-01-07T08:00:00Z",
	} {
		_, message, code := commandline.Invoke(t, NewCommand(), append([]string{"open"}, strings.Fields(args)...)...)
		if code != command.ExitUsage || !strings.Contains(message, want) {
			t.Errorf("%s: code %d, %q; want %d and %q", args, code, message, command.ExitUsage, want)
		}
	}
}

func TestTheListSaysUntilWhen(t *testing.T) {
	end := metav1.NewTime(time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC))
	cb := v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global"},
		Spec: v1alpha1.RemediationBreakerSpec{Mode: v1alpha1.BreakerForcedOpen, ForcedOpenUntilTime: &end,
			Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}},
		Status: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed, Reason: "WithinLimits",
			Message: "fine"}}
	recorded.Requests(&cb, v1alpha1.RequestRecord{Action: v1alpha1.ActionForceOpen, User: "ann", Reason: "INC-42",
		UntilTime: &end})
	for left, want := range map[time.Duration]string{
		1: "global Global Open ForcedOpen 0 of 0 - held open by a person until 2027-01-07T08:00:00Z (ann: INC-42): " +
			"evenkeel breaker close global",
		0: "global Global Closed WithinLimits 0 of 0 - fine",
	} {
		var out bytes.Buffer
		if err := printBreakers([]v1alpha1.RemediationBreaker{cb}, end.Add(-left), &out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	out := bytes.Buffer{}
	if err := printHistory([]v1alpha1.RemediationBreaker{cb}, &out); err != nil ||
		!strings.Contains(strings.Join(strings.Fields(out.String()), " "), "ForceOpen until 2027-01-07T08:00:00Z ann") {
		t.Errorf("the history says %v\n%s", err, out.String())
	}
}
