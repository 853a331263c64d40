// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
)

func TestWhatPeopleAskIsOnRecord(t *testing.T) {
	type object = map[string]any
	plan := func(spec object) object {
		return object{"metadata": object{"name": "p"}, "spec": spec}
	}
	user := policy.UserInfo{Username: "ann"}
	cases := map[string]struct {
		request policy.Request
		want    string
	}{
		"a pause in one's own name": {
			policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user, Now: time.Unix(0, 0),
				OldObject: plan(object{}),
				Object: plan(object{"desiredState": "Paused",
					"requests": []any{object{"action": "Pause", "user": "ann",
						"requestTime": "1970-01-01T00:00:00Z"}}})}, ""},
		"a pause until a time to come": {
			policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user, Now: time.Unix(0, 0),
				OldObject: plan(object{}),
				Object: plan(object{"desiredState": "Paused", "pausedUntilTime": "1970-01-01T00:00:01Z",
					"requests": []any{object{"action": "Pause", "user": "ann", "requestTime": "1970-01-01T00:00:00Z",
						"untilTime": "1970-01-01T00:00:01Z"}}})}, ""},
		"a pause until a time that has passed": {
			policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user, Now: time.Unix(0, 0),
				OldObject: plan(object{}),
				Object: plan(object{"desiredState": "Paused", "pausedUntilTime": "1970-01-01T00:00:00Z",
					"requests": []any{object{"action": "Pause", "user": "ann", "requestTime": "1970-01-01T00:00:00Z",
						"untilTime": "1970-01-01T00:00:00Z"}}})}, "1970-01-01T00:00:00Z, has passed"},
		"a hold until a time that has passed": {
			policy.Request{Operation: policy.Update, Resource: "remediationbreakers", UserInfo: user,
				Now: time.Unix(0, 0),
				Object: object{"spec": object{"mode": "ForcedOpen", "forcedOpenUntilTime": "1969-12-31T00:00:00Z",
					"requests": []any{object{"action": "ForceOpen", "user": "ann",
						"requestTime": "1970-01-01T00:00:00Z",
						"untilTime":   "1969-12-31T00:00:00Z"}}}}}, "1969-12-31T00:00:00Z, has passed"},
		"an end of a pause that is recorded otherwise": {
			policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user, Now: time.Unix(0, 0),
				OldObject: plan(object{}),
				Object: plan(object{"desiredState": "Paused", "pausedUntilTime": "1970-01-01T00:00:09Z",
					"requests": []any{object{"action": "Pause", "user": "ann", "requestTime": "1970-01-01T00:00:00Z",
						"untilTime": "1970-01-01T00:00:01Z"}}})}, "doesn't hold who makes this request"},
		"a pause in nobody's": {
			policy.Request{Operation: policy.Update, Resource: "remediations",
				Object: plan(object{"desiredState": "Paused"}), OldObject: plan(object{})},
			"doesn't hold who makes this request"},
		"an undo in another's name": {policy.Request{Operation: policy.Update, Resource: "remediations", UserInfo: user,
			Now: time.Unix(0, 0), OldObject: plan(object{}),
			Object: plan(object{"desiredState": "Undone",
				"requests": []any{object{"action": "Undo", "user": "bob", "requestTime": "1970-01-01T00:00:00Z"}}})},
			"doesn't hold who makes this request"},
		"a reset without a reason": {
			policy.Request{Operation: policy.Update, Resource: "remediationbreakers", UserInfo: user,
				Now: time.Unix(0, 0),
				Object: object{"spec": object{
					"resetToken": "1", "requests": []any{
						object{"action": "Reset", "token": "1", "user": "ann",
							"requestTime": "1970-01-01T00:00:00Z"}}}}},
			"needs a reason"},
		"a reset with one": {policy.Request{Operation: policy.Update, Resource: "remediationbreakers", UserInfo: user,
			Now: time.Unix(0, 0),
			Object: object{"spec": object{
				"resetToken": "1", "requests": []any{
					object{"action": "Reset", "token": "1", "user": "ann", "requestTime": "1970-01-01T00:00:00Z",
						"reason": "it is back"}}}}}, ""},
		"a reset in another's name": {
			policy.Request{Operation: policy.Update, Resource: "remediationbreakers", UserInfo: user,
				Now: time.Unix(0, 0),
				Object: object{"spec": object{
					"resetToken": "1", "requests": []any{
						object{"action": "Reset", "token": "1", "user": "bob", "requestTime": "1970-01-01T00:00:00Z",
							"reason": "it is back"}}}}}, "doesn't hold who makes this request"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := notTheirRequest(&c.request); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
