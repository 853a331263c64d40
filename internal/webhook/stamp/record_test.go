// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// record is a line of the record.
func record(action, user string, more ...string) string {
	r := v1alpha1.RequestRecord{User: user, Action: v1alpha1.RequestAction(action), RequestTime: metav1.NewTime(noon)}
	for i := 0; i < len(more); i += 2 {
		at, _ := time.Parse(time.RFC3339, more[i+1])
		switch more[i] {
		case "reason":
			r.Reason = more[i+1]
		case "token":
			r.Token = more[i+1]
		case "requestTime":
			r.RequestTime = metav1.NewTime(at)
		case "untilTime":
			r.UntilTime = &metav1.Time{Time: at}
		}
	}
	return r.Line()
}

// holding is an object with a spec and the lines of its record.
func holding(spec tree, lines ...string) tree {
	if len(lines) == 0 {
		return tree{"spec": spec, "metadata": tree{}}
	}
	return tree{"spec": spec, "metadata": tree{"annotations": tree{
		v1alpha1.AnnotationRequests: strings.Join(lines, "\n")}}}
}

func TestWhoOverridesIsOnRecord(t *testing.T) {
	spec := func(more ...any) tree {
		s := tree{"policyUID": "1", "admissionAction": "Warn", "expirationTime": "2026-03-01T14:00:00Z"}
		for i := 0; i < len(more); i += 2 {
			s[more[i].(string)] = more[i+1]
		}
		return s
	}
	old := record("Override", "bob")
	cases := map[string]struct {
		before, after tree
		want          []string
	}{
		"A new one": {holding(nil), holding(spec("reason", "INC-42")),
			[]string{record("Override", "ann", "reason", "INC-42")}},
		"In another's name": {holding(nil), holding(spec(), old), []string{record("Override", "ann")}},
		"A later end": {holding(spec(), old), holding(spec("expirationTime", "2026-03-02T14:00:00Z"), old),
			[]string{old, record("Override", "ann")}},
		"Another policy": {holding(spec()), holding(spec("policyUID", "2")), []string{record("Override", "ann")}},
		"A label":        {holding(spec(), old), holding(spec(), old), nil},
		"The same manifest, applied again": {holding(spec("reason", "INC-42"), old),
			holding(spec("reason", "INC-42"), old), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &policy.Request{Operation: policy.Update, Resource: "policyoverrides",
				UserInfo: policy.UserInfo{Username: "ann"}, Now: noon, OldObject: tc.before, Object: tc.after}
			got, needed := Record(r)
			if needed != (tc.want != nil) {
				t.Fatalf("changed: %t", needed)
			}
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), got.Requests); needed && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoAsksIsOnRecord(t *testing.T) {
	old, broken := record("ForceOpen", "bob"), "bob has reset it"
	full := slices.Repeat([]string{old}, 10)
	cases := map[string]struct {
		reason        string
		before, after tree
		want          []string
		untouched     bool
	}{
		"The kill switch": {reason: "who and why", before: holding(tree{}),
			after: holding(tree{"mode": "ForcedOpen", "reason": "INC-42"}),
			want:  []string{record("ForceOpen", "ann", "reason", "INC-42")}},
		"A mode that isn't known": {reason: "it holds the breaker open too", before: holding(tree{}),
			after: holding(tree{"mode": "Shut"}), want: []string{record("ForceOpen", "ann")}},
		"To let go": {reason: "the record goes on", before: holding(tree{"mode": "ForcedOpen"}, old),
			after: holding(tree{"mode": "Automatic"}, old), want: []string{old, record("Release", "ann")}},
		"To let go by leaving out": {reason: "absent is Automatic", before: holding(tree{"mode": "ForcedOpen"}, old),
			after: holding(tree{}), want: []string{old, record("Release", "ann")}},
		"A reset": {reason: "with its token", before: holding(tree{"resetToken": "1"}),
			after: holding(tree{"resetToken": "2", "reason": "why"}),
			want:  []string{record("Reset", "ann", "reason", "why", "token", "2")}},
		"Two at once": {reason: "each has its record", before: holding(tree{"mode": "ForcedOpen"}),
			after: holding(tree{"resetToken": "2", "reason": "why"}),
			want: []string{record("Release", "ann", "reason", "why"),
				record("Reset", "ann", "reason", "why", "token", "2")}},
		"A reason that stands": {reason: "the spec says why it is so, as a manifest in Git does",
			before: holding(tree{"reason": "INC-42"}), after: holding(tree{"mode": "ForcedOpen", "reason": "INC-42"}),
			want: []string{record("ForceOpen", "ann", "reason", "INC-42")}},
		"In another's name": {reason: "replaced", before: holding(tree{}),
			after: holding(tree{"mode": "ForcedOpen"}, record("ForceOpen", "bob")),
			want:  []string{record("ForceOpen", "ann")}},
		"For another reason": {reason: "replaced", before: holding(tree{}),
			after: holding(tree{"mode": "ForcedOpen"}, record("ForceOpen", "ann", "reason", "why")),
			want:  []string{record("ForceOpen", "ann")}},
		"At another time": {reason: "replaced", before: holding(tree{}),
			after: holding(tree{"mode": "ForcedOpen"},
				record("ForceOpen", "ann", "requestTime", "2020-01-01T00:00:00Z")),
			want: []string{record("ForceOpen", "ann")}},
		"A record too many": {reason: "restored", before: holding(tree{}), after: holding(tree{}, old),
			want: []string{}},
		"Records taken away": {reason: "restored", before: holding(tree{}, old), after: holding(tree{}),
			want: []string{old}},
		"Records taken away with an act": {reason: "restored", before: holding(tree{"mode": "ForcedOpen"}, old),
			after: holding(tree{}, record("Release", "ann")), want: []string{old, record("Release", "ann")}},
		"More than there is room for": {reason: "the oldest goes", before: holding(tree{}, full...),
			after: holding(tree{"mode": "ForcedOpen"}, full...),
			want:  append(slices.Clone(full[1:]), record("ForceOpen", "ann"))},
		"After what can't be read": {reason: "it is kept as it is", before: holding(tree{}, broken),
			after: holding(tree{"mode": "ForcedOpen"}, broken), want: []string{broken, record("ForceOpen", "ann")}},
		"A token taken away": {reason: "nothing is asked for", before: holding(tree{"resetToken": "1"}),
			after: holding(tree{}), untouched: true},
		"A reason by itself": {reason: "nothing is asked for", before: holding(tree{}),
			after: holding(tree{"reason": "why"}), untouched: true},
		"What is recorded so": {reason: "asked again, it stays", before: holding(tree{}),
			after: holding(tree{"mode": "ForcedOpen", "reason": "why"},
				record("ForceOpen", "ann", "reason", "why")),
			untouched: true},
		"Nothing of the sort": {reason: "a label, say", before: holding(tree{"mode": "ForcedOpen"}, old),
			after: holding(tree{"mode": "ForcedOpen"}, old), untouched: true},
		"The same mode, aloud": {reason: "absent is Automatic", before: holding(tree{}),
			after: holding(tree{"mode": "Automatic"}), untouched: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &policy.Request{Operation: policy.Update, Resource: "remediationbreakers",
				UserInfo: policy.UserInfo{Username: "ann"}, Now: noon, OldObject: tc.before, Object: tc.after}
			got, needed := Record(r)
			if needed == tc.untouched {
				t.Fatalf("%s: changed: %t", tc.reason, needed)
			}
			if tc.untouched {
				return
			}
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), got.Requests); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			r.Object = holding(tc.after["spec"].(tree))
			if got.Requests != "" {
				r.Object = holding(tc.after["spec"].(tree), got.Requests)
			}
			if again, needed := Record(r); needed {
				t.Errorf("asked again, it changes once more: %+v", again)
			}
		})
	}
}

func TestWhoAnswersIsOnRecord(t *testing.T) {
	yes := tree{"decision": "Approve", "comment": "seen"}
	cases := map[string]struct {
		before, after tree
		want          string
	}{
		"A yes, with its own reason": {tree{"reason": "paused for lunch"},
			tree{"reason": "paused for lunch", "approval": yes}, record("Approve", "ann", "reason", "seen")},
		"A no": {tree{}, tree{"approval": tree{"decision": "Reject"}}, record("Reject", "ann")},
		"A yes to a step": {tree{"approval": yes}, tree{"approval": tree{"decision": "Approve", "wave": int64(2)}},
			record("Approve", "ann", "token", "wave 2")},
		"What was answered":     {tree{"approval": yes}, tree{"approval": yes}, ""},
		"An answer, taken back": {tree{"approval": yes}, tree{}, ""},
		"One with a resume": {tree{"desiredState": "Paused"}, tree{"approval": yes},
			record("Resume", "ann") + "\n" + record("Approve", "ann", "reason", "seen")},
	}
	for name, tc := range cases {
		r := &policy.Request{Operation: policy.Update, Resource: "remediations", Now: noon,
			UserInfo: policy.UserInfo{Username: "ann"}, OldObject: holding(tc.before), Object: holding(tc.after)}
		got, needed := Record(r)
		if diff := cmp.Diff(tc.want, got.Requests); diff != "" || needed != (tc.want != "") {
			t.Errorf("%s: changed %t (-want +got):\n%s", name, needed, diff)
		}
	}
}

func TestUntilWhenIsOnRecord(t *testing.T) {
	const at, later = "2026-03-01T14:00:00Z", "2026-03-01T16:00:00Z"
	paused := func(until string) tree { return tree{"desiredState": "Paused", "pausedUntilTime": until} }
	held := func(until string) tree { return tree{"mode": "ForcedOpen", "forcedOpenUntilTime": until} }
	cases := map[string]struct {
		before, after tree
		want          string // what is recorded; empty for nothing
		leftover      string
	}{
		"a pause with an end":                   {tree{}, paused(at), "Pause until " + at, ""},
		"another end":                           {paused(at), paused(later), "Pause until " + later, ""},
		"no end any more":                       {paused(at), tree{"desiredState": "Paused"}, "Pause", ""},
		"an end where there was none":           {tree{"desiredState": "Paused"}, paused(at), "Pause until " + at, ""},
		"the same end":                          {paused(at), paused(at), "", ""},
		"it goes on, and the end is taken away": {paused(at), tree{"desiredState": "Running"}, "Resume", ""},
		"it goes on, and the end is left":       {paused(at), tree{"pausedUntilTime": at}, "Resume", "pausedUntilTime"},
		"it is aborted, and the end is left": {paused(at), tree{"desiredState": "Aborted", "pausedUntilTime": at},
			"Abort", "pausedUntilTime"},
		"it goes on, with another end, which is wrong": {paused(at), tree{"pausedUntilTime": later}, "Resume", ""},
		"a hold with an end":                           {tree{}, held(at), "ForceOpen until " + at, ""},
		"another end of a hold":                        {held(at), held(later), "ForceOpen until " + later, ""},
		"a hold without an end":                        {held(at), tree{"mode": "ForcedOpen"}, "ForceOpen", ""},
		"the same end of a hold":                       {held(at), held(at), "", ""},
		"let go of, and the end is left": {held(at), tree{"mode": "Automatic", "forcedOpenUntilTime": at}, "Release",
			"forcedOpenUntilTime"},
		"let go of, and the end is taken away": {held(at), tree{}, "Release", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resource := "remediations"
			if tc.before["mode"] != nil || tc.after["mode"] != nil {
				resource = "remediationbreakers"
			}
			r := &policy.Request{Operation: policy.Update, Resource: resource, Now: noon,
				UserInfo: policy.UserInfo{Username: "ann"}, OldObject: holding(tc.before), Object: holding(tc.after)}
			got, needed := Record(r)
			if needed != (tc.want != "") || got.Leftover != tc.leftover {
				t.Fatalf("changed: %t, %q is left over", needed, got.Leftover)
			}
			if tc.want == "" {
				return
			}
			action, until, _ := strings.Cut(tc.want, " until ")
			want := record(action, "ann")
			if until != "" {
				want = record(action, "ann", "untilTime", until)
			}
			if diff := cmp.Diff(want, got.Requests); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			made := maps.Clone(tc.after)
			delete(made, tc.leftover)
			r.Object = holding(made, got.Requests)
			if again, needed := Record(r); needed {
				t.Errorf("asked again, it changes once more: %+v", again)
			}
		})
	}
}

func TestAnEndThatIsLeftGoesWhoeverWritesTheRecord(t *testing.T) {
	const at = "2026-03-01T14:00:00Z"
	r := &policy.Request{Operation: policy.Update, Resource: "remediations", Now: noon,
		UserInfo:  policy.UserInfo{Username: "ann"},
		OldObject: holding(tree{"desiredState": "Paused", "pausedUntilTime": at}),
		Object:    holding(tree{"pausedUntilTime": at}, record("Resume", "ann"))}
	got, needed := Record(r)
	if diff := cmp.Diff(record("Resume", "ann"), got.Requests); !needed || got.Leftover != "pausedUntilTime" ||
		diff != "" {
		t.Errorf("changed %t, %+v\n%s", needed, got, diff)
	}
}

func TestAnEndThatHasPassed(t *testing.T) {
	for name, tc := range map[string]struct {
		resource      string
		before, after tree
		want          bool
	}{
		"a pause": {"remediations", nil,
			tree{"desiredState": "Paused", "pausedUntilTime": "2026-03-01T12:00:00Z"}, true},
		"a hold": {"remediationbreakers", nil,
			tree{"mode": "ForcedOpen", "forcedOpenUntilTime": "2026-03-01T13:00:00+01:00"}, true},
		"to come": {"remediations", nil,
			tree{"desiredState": "Paused", "pausedUntilTime": "2026-03-01T12:00:01Z"}, false},
		"no time": {"remediations", nil, tree{"desiredState": "Paused", "pausedUntilTime": "noon"}, false},
		"none":    {"remediations", nil, tree{"desiredState": "Paused"}, false},
		"it has come since": {"remediations", tree{"desiredState": "Paused", "pausedUntilTime": "2026-03-01T11:00:00Z"},
			tree{"desiredState": "Paused", "pausedUntilTime": "2026-03-01T11:00:00Z", "retryToken": "1"}, false},
	} {
		r := &policy.Request{Operation: policy.Update, Resource: tc.resource, Now: noon,
			OldObject: tree{"spec": tc.before}, Object: tree{"spec": tc.after}}
		if end, got := Passed(r); got != tc.want || got && !end.Equal(noon) {
			t.Errorf("%s: %s has passed: %t", name, end, got)
		}
	}
}

func TestWhoOverridesWindowsIsOnRecord(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after tree
		want          []string
	}{
		"Override": {"a person asks", tree{}, tree{"windows": "Ignore", "reason": "INC-42"},
			[]string{record("OverrideWindows", "ann", "reason", "INC-42")}},
		"Taken back": {"that is a word too", tree{"windows": "Ignore"}, tree{"reason": "over"},
			[]string{record("RespectWindows", "ann", "reason", "over")}},
		"Taken back by name": {"the same", tree{"windows": "Ignore"}, tree{"windows": "Respect"},
			[]string{record("RespectWindows", "ann")}},
		"With a retry": {"each has its record", tree{}, tree{"windows": "Ignore", "retryToken": "1"},
			[]string{record("Retry", "ann", "token", "1"), record("OverrideWindows", "ann")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &policy.Request{Operation: policy.Update, Resource: "remediations", Now: noon,
				UserInfo: policy.UserInfo{Username: "ann"}, OldObject: holding(tc.before), Object: holding(tc.after)}
			got, needed := Record(r)
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), got.Requests); diff != "" || !needed {
				t.Errorf("%s, changed %t (-want +got):\n%s", tc.reason, needed, diff)
			}
		})
	}
}
