// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recording is a plan with a record of requests.
func recording(lines ...string) *Remediation {
	return &Remediation{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{AnnotationRequests: strings.Join(lines, "\n")}}}
}

func TestRequestsAreReadAsTheyWereWritten(t *testing.T) {
	at := metav1.NewTime(time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC))
	want := []RequestRecord{
		{User: `o"ne\<two>`, Action: ActionPause, RequestTime: at, Reason: "line\nbreak & more", UntilTime: &at},
		{User: "ann", Action: ActionReset, RequestTime: at, Token: "1"}}
	lines := []string{want[0].Line(), want[1].Line()}
	if diff := cmp.Diff(want, Requests(recording(lines...))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := lines[1]; got != `{"user":"ann","action":"Reset","requestTime":"2027-01-07T08:00:00Z","token":"1"}` {
		t.Errorf("the API server's policy can't read %s", got)
	}
	if got := Requests(&Remediation{}); got != nil {
		t.Errorf("of no annotation: %v", got)
	}
}

func TestALineThatCantBeReadIsARequestThatAdmissionDidntSee(t *testing.T) {
	pause := RequestRecord{User: "ann", Action: ActionPause}
	for name, line := range map[string]string{
		"no JSON": "ann has paused it", "an empty line": "", "another form": `["ann"]`, "nobody": `{"action":"Pause"}`,
		"nothing": `{"user":"ann"}`, "a time that is none": `{"user":"ann","action":"Pause","requestTime":"noon"}`,
		"a name without end": `{"action":"Pause","user":"` + strings.Repeat("n", 5000) + `"}`,
	} {
		rem := recording(pause.Line(), line, "{}")
		rem.Spec.DesiredState = StatePaused
		got := Requests(rem)
		if len(got) != 3 || got[0].User != "ann" || got[1].User != UnknownUser || got[1].Action != ActionUnreadable ||
			!strings.Contains(got[1].Reason, AnnotationRequests) {
			t.Errorf("%s: read as %+v", name, got)
		}
		if by := rem.AskedBy(); by != nil || by.String() != UnknownUser {
			t.Errorf("%s: what came before it counts: %s", name, by)
		}
		later := recording(line, pause.Line())
		later.Spec.DesiredState = StatePaused
		if by := later.AskedBy(); by == nil || by.User != "ann" {
			t.Errorf("%s: what came after it doesn't count: %s", name, by)
		}
	}
	many := recording(slices.Repeat([]string{pause.Line()}, 1000)...)
	if n := len(Requests(many)); n != MaxRequests {
		t.Errorf("of 1000 lines %d are read", n)
	}
}
