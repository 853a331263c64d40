// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(action, user string, more ...string) tree {
	r := tree{"action": action, "user": user, "requestTime": "2026-03-01T12:00:00Z"}
	for i := 0; i < len(more); i += 2 {
		r[more[i]] = more[i+1]
	}
	return r
}

func TestWhoOverridesIsOnRecord(t *testing.T) {
	type change struct{ before, after tree }
	spec := func(more ...any) tree {
		s := tree{"policyUID": "1", "admissionAction": "Warn", "expirationTime": "2026-03-01T14:00:00Z"}
		for i := 0; i < len(more); i += 2 {
			s[more[i].(string)] = more[i+1]
		}
		return s
	}
	old := record("Override", "bob")
	cases := map[string]struct {
		change
		want []any
	}{
		"A new one": {change{nil, spec("reason", "INC-42")}, []any{record("Override", "ann", "reason", "INC-42")}},
		"In another's name": {change{nil, spec("requests", []any{record("Override", "bob")})},
			[]any{record("Override", "ann")}},
		"A later end": {change{spec("requests", []any{old}), spec("requests", []any{old},
			"expirationTime", "2026-03-02T14:00:00Z")}, []any{old, record("Override", "ann")}},
		"Another policy": {change{spec(), spec("policyUID", "2")}, []any{record("Override", "ann")}},
		"A label":        {change{spec("requests", []any{old}), spec("requests", []any{old})}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &policy.Request{Operation: policy.Update, Resource: "policyoverrides",
				UserInfo: policy.UserInfo{Username: "ann"}, Now: noon,
				OldObject: tree{"spec": tc.before}, Object: tree{"spec": tc.after}}
			got, needed := Record(r)
			if needed != (tc.want != nil) {
				t.Fatalf("changed: %t", needed)
			}
			if diff := cmp.Diff(tc.want, got.Requests); needed && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoAsksIsOnRecord(t *testing.T) {
	old := record("ForceOpen", "bob")
	full := []any{}
	for range 10 {
		full = append(full, old)
	}
	cases := map[string]struct {
		reason        string
		before, after tree
		want          Change
		untouched     bool
	}{
		"The kill switch": {reason: "who and why", before: tree{},
			after: tree{"mode": "ForcedOpen", "reason": "INC-42"},
			want:  Change{Requests: []any{record("ForceOpen", "ann", "reason", "INC-42")}, Moved: true}},
		"A mode that isn't known": {reason: "it holds the breaker open too", before: tree{},
			after: tree{"mode": "Shut"},
			want:  Change{Requests: []any{record("ForceOpen", "ann")}}},
		"To let go": {reason: "the record goes on", before: tree{"mode": "ForcedOpen", "requests": []any{old}},
			after: tree{"mode": "Automatic", "requests": []any{old}},
			want:  Change{Requests: []any{old, record("Release", "ann")}}},
		"To let go by leaving out": {
			reason: "absent is Automatic", before: tree{"mode": "ForcedOpen", "requests": []any{old}}, after: tree{},
			want: Change{Requests: []any{old, record("Release", "ann")}}},
		"A reset": {reason: "with its token", before: tree{"resetToken": "1"},
			after: tree{"resetToken": "2", "reason": "why"},
			want: Change{Requests: []any{record("Reset", "ann", "reason", "why", "token", "2")},
				Moved: true}},
		"Two at once": {reason: "each has its record", before: tree{"mode": "ForcedOpen"},
			after: tree{"resetToken": "2", "reason": "why"},
			want: Change{
				Requests: []any{record("Release", "ann", "reason", "why"),
					record("Reset", "ann", "reason", "why", "token", "2")}, Moved: true}},
		"A reason that stood there before": {reason: "it was given for something else", before: tree{"reason": "old"},
			after: tree{"mode": "ForcedOpen", "reason": "old"},
			want:  Change{Requests: []any{record("ForceOpen", "ann")}}},
		"In another's name": {reason: "replaced", before: tree{},
			after: tree{"mode": "ForcedOpen", "requests": []any{record("ForceOpen", "bob")}},
			want:  Change{Requests: []any{record("ForceOpen", "ann")}}},
		"At another time": {reason: "replaced", before: tree{},
			after: tree{"mode": "ForcedOpen",
				"requests": []any{record("ForceOpen", "ann", "requestTime", "2020-01-01T00:00:00Z")}},
			want: Change{Requests: []any{record("ForceOpen", "ann")}}},
		"A record too many": {reason: "restored", before: tree{}, after: tree{"requests": []any{old}},
			want: Change{}},
		"Records taken away": {reason: "restored", before: tree{"requests": []any{old}}, after: tree{},
			want: Change{Requests: []any{old}}},
		"Records taken away with an act": {
			reason: "restored", before: tree{"requests": []any{old}, "mode": "ForcedOpen"},
			after: tree{"requests": []any{record("Release", "ann")}},
			want:  Change{Requests: []any{old, record("Release", "ann")}}},
		"More than there is room for": {reason: "the oldest goes", before: tree{"requests": full},
			after: tree{"mode": "ForcedOpen", "requests": full},
			want:  Change{Requests: append(append([]any{}, full[1:]...), record("ForceOpen", "ann"))}},
		"A token taken away": {reason: "nothing is asked for", before: tree{"resetToken": "1"}, after: tree{},
			untouched: true},
		"A reason by itself": {reason: "nothing is asked for", before: tree{}, after: tree{"reason": "why"},
			untouched: true},
		"What is recorded so": {reason: "asked again, it stays", before: tree{},
			after:     tree{"mode": "ForcedOpen", "requests": []any{record("ForceOpen", "ann", "reason", "why")}},
			untouched: true},
		"Nothing of the sort": {reason: "a label, say", before: tree{"mode": "ForcedOpen", "requests": []any{old}},
			after: tree{"mode": "ForcedOpen", "requests": []any{old}}, untouched: true},
		"The same mode, aloud": {reason: "absent is Automatic", before: tree{}, after: tree{"mode": "Automatic"},
			untouched: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &policy.Request{Operation: policy.Update, Resource: "remediationbreakers",
				UserInfo: policy.UserInfo{Username: "ann"}, Now: noon,
				OldObject: tree{"spec": tc.before}, Object: tree{"spec": tc.after}}
			got, needed := Record(r)
			if needed == tc.untouched {
				t.Fatalf("%s: changed: %t", tc.reason, needed)
			}
			if tc.untouched {
				return
			}
			if len(got.Requests) == 0 {
				got.Requests = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			spec := tree{}
			for k, v := range tc.after {
				spec[k] = v
			}
			spec["requests"] = any(got.Requests)
			if got.Requests == nil {
				delete(spec, "requests")
			}
			if got.Moved {
				delete(spec, "reason")
			}
			r.Object = tree{"spec": spec}
			if again, needed := Record(r); needed {
				t.Errorf("asked again, it changes once more: %+v", again)
			}
		})
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
			r := &policy.Request{Operation: policy.Update, Resource: resource,
				UserInfo: policy.UserInfo{Username: "ann"}, Now: noon,
				OldObject: tree{"spec": tc.before}, Object: tree{"spec": tc.after}}
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
				want["untilTime"] = until
			}
			if diff := cmp.Diff([]any{want}, got.Requests); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			r.Object["spec"] = without(tc.after, tc.leftover, got.Requests)
			if again, needed := Record(r); needed {
				t.Errorf("asked again, it changes once more: %+v", again)
			}
		})
	}
}

// without is a spec as admission makes it.
func without(spec tree, leftover string, records []any) tree {
	made := tree{"requests": records}
	for field, value := range spec {
		if field != leftover {
			made[field] = value
		}
	}
	return made
}

func TestAnEndThatIsLeftGoesWhoeverWritesTheRecord(t *testing.T) {
	const at = "2026-03-01T14:00:00Z"
	r := &policy.Request{Operation: policy.Update, Resource: "remediations", Now: noon,
		UserInfo:  policy.UserInfo{Username: "ann"},
		OldObject: tree{"spec": tree{"desiredState": "Paused", "pausedUntilTime": at}},
		Object:    tree{"spec": tree{"pausedUntilTime": at, "requests": []any{record("Resume", "ann")}}}}
	got, needed := Record(r)
	if diff := cmp.Diff([]any{record("Resume", "ann")}, got.Requests); !needed || got.Leftover != "pausedUntilTime" ||
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
		want          Change
	}{
		"Override": {"a person asks", tree{}, tree{"windows": "Ignore", "reason": "INC-42"},
			Change{Requests: []any{record("OverrideWindows", "ann", "reason", "INC-42")}, Moved: true}},
		"Taken back": {"that is a word too", tree{"windows": "Ignore"}, tree{"reason": "over"},
			Change{Requests: []any{record("RespectWindows", "ann", "reason", "over")}, Moved: true}},
		"Taken back by name": {"the same", tree{"windows": "Ignore"}, tree{"windows": "Respect"},
			Change{Requests: []any{record("RespectWindows", "ann")}}},
		"With a retry": {"each has its record", tree{}, tree{"windows": "Ignore", "retryToken": "1"},
			Change{Requests: []any{record("Retry", "ann", "token", "1"), record("OverrideWindows", "ann")}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &policy.Request{Operation: policy.Update, Resource: "remediations",
				UserInfo: policy.UserInfo{Username: "ann"}, Now: noon,
				OldObject: tree{"spec": tc.before}, Object: tree{"spec": tc.after}}
			got, needed := Record(r)
			if diff := cmp.Diff(tc.want, got); diff != "" || !needed {
				t.Errorf("%s, changed %t (-want +got):\n%s", tc.reason, needed, diff)
			}
		})
	}
}
