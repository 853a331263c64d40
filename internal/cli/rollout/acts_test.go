// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestHistoryTellsWhoAskedForWhatAndWhy(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	rem := v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "p-1"}}
	rem.Status.Approval = &v1alpha1.ApprovalRecord{Decision: v1alpha1.DecisionReject, Approver: "bob",
		Comment: "not\ntoday", DecisionTime: metav1.NewMicroTime(at(2))}
	recorded.Requests(&rem, []v1alpha1.RequestRecord{
		{Action: v1alpha1.ActionPause, User: "ann", Reason: "INC-42", RequestTime: metav1.NewTime(at(1))},
		{Action: v1alpha1.ActionUndo, User: "cid", RequestTime: metav1.NewTime(at(3))}}...)
	quiet := v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "p-2"}}
	var out bytes.Buffer
	if err := printHistory([]v1alpha1.Remediation{rem, quiet}, &out); err != nil {
		t.Fatal(err)
	}
	_, acts, _ := strings.Cut(out.String(), "\n\n")
	var got []string
	for line := range strings.Lines(acts) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"PLAN WHEN ASKED FOR BY WHY", "p-1 2026-03-01 12:01:00Z Pause ann INC-42",
		"p-1 2026-03-01 12:02:00Z Reject bob not today", "p-1 2026-03-01 12:03:00Z Undo cid -"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	out.Reset()
	if err := printHistory([]v1alpha1.Remediation{quiet}, &out); err != nil ||
		strings.Contains(out.String(), "\n\n") {
		t.Errorf("where nobody asked for anything: %v\n%s", err, out.String())
	}
}
