// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestWhereEarlierActsMayBeForgottenItIsSaid: an object remembers so many, and a list that is full may not be whole.
func TestWhereEarlierActsMayBeForgottenItIsSaid(t *testing.T) {
	acts := func(name string, n int) []Act {
		records := make([]v1alpha1.RequestRecord, n)
		for i := range records {
			records[i] = v1alpha1.RequestRecord{Action: v1alpha1.ActionPause, User: "ann",
				RequestTime: metav1.NewTime(time.Date(2026, 3, 1, 12, i, 0, 0, time.UTC))}
		}
		return ActsOf(name, records)
	}
	approved := Act{Of: "p-1", What: "Approve", User: "bob"}
	for name, tc := range map[string]struct {
		acts []Act
		want string
	}{
		"all are there":       {acts("p-1", v1alpha1.MaxRequests-1), ""},
		"an answer isn't one": {append(acts("p-1", v1alpha1.MaxRequests-1), approved), ""},
		"as many as are kept": {acts("p-1", v1alpha1.MaxRequests), "p-1"},
		"of several": {append(append(acts("p-1", v1alpha1.MaxRequests), acts("p-2", 1)...),
			acts("p-3", v1alpha1.MaxRequests)...), "p-1, p-3"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := PrintActs(&out, "PLAN", tc.acts); err != nil {
				t.Fatal(err)
			}
			_, said, _ := strings.Cut(out.String(), "\n\n")
			want := ""
			if tc.want != "" {
				want = tc.want + ": only the latest 10 are kept; earlier ones, if there were any, are in the API " +
					"server's audit log, where it has one\n"
			}
			if said != want {
				t.Errorf("said %q, want %q", said, want)
			}
		})
	}
}
