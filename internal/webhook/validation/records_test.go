// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
)

func TestWhatIsTheManagersNobodyElseWrites(t *testing.T) {
	type object = map[string]any
	plan := func(spec object) object {
		return object{"metadata": object{"name": "p", "annotations": object{"evenkeel.dev/seal": "s"}}, "spec": spec}
	}
	user := policy.UserInfo{Username: "ann"}
	cases := map[string]struct {
		request policy.Request
		want    string
	}{
		"a new plan": {policy.Request{Operation: policy.Create, Resource: "remediations", Object: plan(object{})},
			"made by the manager alone"},
		"a new slice": {policy.Request{Operation: policy.Create, Resource: "remediationslices", Object: plan(object{})},
			"made by the manager alone"},
		"a pause in one's own name": {
			policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user, Now: time.Unix(0, 0),
				OldObject: plan(object{}),
				Object: plan(object{"desiredState": "Paused",
					"requests": []any{object{"action": "Pause", "user": "ann", "time": "1970-01-01T00:00:00Z"}}})}, ""},
		"a pause until a time to come": {
			policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user, Now: time.Unix(0, 0),
				OldObject: plan(object{}),
				Object: plan(object{"desiredState": "Paused", "pausedUntil": "1970-01-01T00:00:01Z",
					"requests": []any{object{"action": "Pause", "user": "ann", "time": "1970-01-01T00:00:00Z",
						"until": "1970-01-01T00:00:01Z"}}})}, ""},
		"a pause until a time that has passed": {
			policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user, Now: time.Unix(0, 0),
				OldObject: plan(object{}),
				Object: plan(object{"desiredState": "Paused", "pausedUntil": "1970-01-01T00:00:00Z",
					"requests": []any{object{"action": "Pause", "user": "ann", "time": "1970-01-01T00:00:00Z",
						"until": "1970-01-01T00:00:00Z"}}})}, "1970-01-01T00:00:00Z, has passed"},
		"a hold until a time that has passed": {
			policy.Request{Operation: policy.Update, Resource: "remediationbreakers", UserInfo: user,
				Now: time.Unix(0, 0),
				Object: object{"spec": object{"mode": "ForcedOpen", "forcedOpenUntil": "1969-12-31T00:00:00Z",
					"requests": []any{object{"action": "ForceOpen", "user": "ann", "time": "1970-01-01T00:00:00Z",
						"until": "1969-12-31T00:00:00Z"}}}}}, "1969-12-31T00:00:00Z, has passed"},
		"an end of a pause that is recorded otherwise": {
			policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user, Now: time.Unix(0, 0),
				OldObject: plan(object{}),
				Object: plan(object{"desiredState": "Paused", "pausedUntil": "1970-01-01T00:00:09Z",
					"requests": []any{object{"action": "Pause", "user": "ann", "time": "1970-01-01T00:00:00Z",
						"until": "1970-01-01T00:00:01Z"}}})}, "doesn't hold who makes this request"},
		"a pause in nobody's": {
			policy.Request{Operation: policy.Update, Resource: "remediations",
				Object: plan(object{"desiredState": "Paused"}), OldObject: plan(object{})},
			"doesn't hold who makes this request"},
		"an undo in another's name": {policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user,
			Now: time.Unix(0, 0), OldObject: plan(object{}),
			Object: plan(object{"desiredState": "Undone",
				"requests": []any{object{"action": "Undo", "user": "bob", "time": "1970-01-01T00:00:00Z"}}})},
			"doesn't hold who makes this request"},
		"another strategy": {policy.Request{Operation: policy.Update, Resource: "remediations",
			Object:    plan(object{"strategy": object{"mode": "Automatic"}}),
			OldObject: plan(object{"strategy": object{"mode": "Manual"}})}, "written by the manager alone"},
		"other targets": {policy.Request{Operation: policy.Update, Resource: "remediationslices",
			Object: object{"targets": []any{"a"}}, OldObject: object{"targets": []any{"b"}}},
			"written by the manager alone"},
		"other records": {policy.Request{Operation: policy.Update, Resource: "remediationslices",
			Object:    object{"records": []any{object{"state": "Done"}}},
			OldObject: object{"records": []any{object{"state": "Pending"}}}}, "written by the manager alone"},
		"no records": {policy.Request{Operation: policy.Update, Resource: "remediationslices",
			Object: object{"metadata": object{}}, OldObject: object{"records": []any{object{"state": "Done"}}}},
			"written by the manager alone"},
		"another count of writes": {policy.Request{Operation: policy.Update, Resource: "remediationslices",
			Object: object{"sequence": int64(1)}, OldObject: object{"sequence": int64(2)}},
			"written by the manager alone"},
		"another seal of the targets": {policy.Request{Operation: policy.Update, Resource: "remediationslices",
			Object: plan(nil), OldObject: object{"metadata": object{"name": "p"}, "spec": object(nil)}},
			"evenkeel.dev/seal"},
		"a label of somebody's on a slice": {policy.Request{Operation: policy.Update, Resource: "remediationslices",
			Object:    object{"metadata": object{"labels": object{"theirs": "x"}}},
			OldObject: object{"metadata": object{}}}, ""},
		"another seal": {policy.Request{Operation: policy.Update, Resource: "remediations",
			Object: object{"metadata": object{"name": "p"}, "spec": object{}}, OldObject: plan(object{})},
			"evenkeel.dev/seal"},
		"a finalizer taken off": {policy.Request{Operation: policy.Update, Resource: "remediations",
			Object: plan(object{}), OldObject: object{
				"metadata": object{"finalizers": []any{"x"}, "annotations": object{"evenkeel.dev/seal": "s"}},
				"spec":     object{}}}, ""},
		"a status": {policy.Request{Operation: policy.Update, Resource: "remediations", SubResource: "status",
			Object: object{"status": object{"phase": "Succeeded"}}, OldObject: object{}},
			"status is written by the manager alone"},
		"a status left as it is": {
			policy.Request{Operation: policy.Update, Resource: "remediationbreakers", SubResource: "status",
				Object:    object{"status": object{"state": "Open"}},
				OldObject: object{"status": object{"state": "Open"}}},
			""},
		"a reset without a reason": {
			policy.Request{Operation: policy.Update, Resource: "remediationbreakers", UserInfo: user,
				Now: time.Unix(0, 0),
				Object: object{"spec": object{
					"resetToken": "1", "requests": []any{
						object{"action": "Reset", "token": "1", "user": "ann", "time": "1970-01-01T00:00:00Z"}}}}},
			"needs a reason"},
		"a reset with one": {policy.Request{Operation: policy.Update, Resource: "remediationbreakers", UserInfo: user,
			Now: time.Unix(0, 0),
			Object: object{"spec": object{
				"resetToken": "1", "requests": []any{
					object{"action": "Reset", "token": "1", "user": "ann", "time": "1970-01-01T00:00:00Z",
						"reason": "it is back"}}}}}, ""},
		"a reset in another's name": {
			policy.Request{Operation: policy.Update, Resource: "remediationbreakers", UserInfo: user,
				Now: time.Unix(0, 0),
				Object: object{"spec": object{
					"resetToken": "1", "requests": []any{
						object{"action": "Reset", "token": "1", "user": "bob", "time": "1970-01-01T00:00:00Z",
							"reason": "it is back"}}}}}, "doesn't hold who makes this request"},
		"a plan deleted": {policy.Request{Operation: policy.Delete, Resource: "remediations",
			OldObject: plan(object{})}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := notTheirs(&c.request); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
