// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestHistoryOfBreakersTellsWhoAskedForWhatAndWhy(t *testing.T) {
	record := func(minute int, action v1alpha1.RequestAction, user, why string) v1alpha1.RequestRecord {
		return v1alpha1.RequestRecord{Action: action, User: user, Reason: why,
			RequestTime: metav1.NewTime(time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC))}
	}
	breaker := func(name string, records ...v1alpha1.RequestRecord) v1alpha1.RemediationBreaker {
		cb := v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: name}}
		recorded.Requests(&cb, records...)
		return cb
	}
	for name, tc := range map[string]struct {
		breakers []v1alpha1.RemediationBreaker
		want     []string
	}{
		"nobody asked": {[]v1alpha1.RemediationBreaker{breaker("global")},
			[]string{"Nobody has held a circuit breaker open or reset one."}},
		"each breaker's together, the oldest first": {
			[]v1alpha1.RemediationBreaker{
				breaker("policy-a", record(5, v1alpha1.ActionReset, "cid", "the registry\nis back")),
				breaker("global", record(1, v1alpha1.ActionForceOpen, "ann", "INC-42"),
					record(9, v1alpha1.ActionRelease, "bob", ""))},
			[]string{"BREAKER WHEN ASKED FOR BY WHY",
				"policy-a 2026-03-01 12:05:00Z Reset cid the registry is back",
				"global 2026-03-01 12:01:00Z ForceOpen ann INC-42",
				"global 2026-03-01 12:09:00Z Release bob -"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := printHistory(tc.breakers, &out); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				got = append(got, strings.Join(strings.Fields(line), " "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// -o json has the breakers with all that their records hold, of one as of all.
func TestHistoryOfBreakersIsReadByPrograms(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	global, other := &v1alpha1.RemediationBreaker{}, &v1alpha1.RemediationBreaker{}
	global.Name, other.Name = "global", "policy-a"
	recorded.Requests(global, v1alpha1.RequestRecord{Action: v1alpha1.ActionForceOpen, User: "ann", Reason: "INC-42"})
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(global, other).Build()
	for _, tc := range []struct {
		args []string
		want int
	}{{nil, 2}, {[]string{"global"}, 1}} {
		var out bytes.Buffer
		var got v1alpha1.RemediationBreakerList
		err := history(t.Context(), c, tc.args, &output.Flag{Format: output.JSON}, &out)
		if err != nil || json.Unmarshal(out.Bytes(), &got) != nil {
			t.Fatalf("error %v, printed\n%s", err, out.String())
		}
		if len(got.Items) != tc.want || v1alpha1.Requests(&got.Items[0])[0].Reason != "INC-42" ||
			got.Items[0].Kind != "RemediationBreaker" {
			t.Errorf("of %v: %s", tc.args, out.String())
		}
	}
}
