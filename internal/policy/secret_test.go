// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy"
)

const hunter = "hunter2-is-the-word"

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// secret is a Secret that kubectl applied with an older value.
func secret(data map[string]any) map[string]any {
	applied, _ := json.Marshal(
		map[string]any{"data": map[string]any{"old": encoded("older-word")},
			"stringData": map[string]any{"plain": "plain-word"}})
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
		"metadata": map[string]any{
			"name": "db", "annotations": map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": string(applied), "team": "shop"}}}
}

func TestRedact(t *testing.T) {
	secrets := policy.SecretsOf(
		secret(map[string]any{"password": encoded(hunter + "\n"), "pin": encoded("42"), "word": encoded("hunter2")}),
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"state": "good"}})
	for name, tc := range map[string]struct{ reason, text, want string }{
		"the decoded value": {reason: "Rego decodes base64 easily", text: "is " + hunter + "!",
			want: "is [censored]!"},
		"the stored form": {reason: "Rego sees this one", text: encoded(hunter+"\n") + " is weak",
			want: "[censored] is weak"},
		"the longest of nested values": {reason: "or the rest of it would be left to read", text: hunter,
			want: "[censored]"},
		"the shorter of nested values": {reason: "it is a value of its own", text: "hunter2x", want: "[censored]x"},
		"a value of kubectl's copy": {reason: "it may be in use elsewhere still", text: "older-word",
			want: "[censored]"},
		"a plain value of kubectl's copy": {reason: "stringData is never stored but there", text: "<plain-word>",
			want: "<[censored]>"},
		"a short value that is all": {reason: "it is told by nothing else", text: "42", want: "[censored]"},
		"a short value within text": {reason: "numbers are in every text", text: "line 42", want: "line 42"},
		"no value": {reason: "an object that isn't a Secret has none",
			text: "state must be good", want: "state must be good"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := secrets.Redact(tc.text); got != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
			if secrets.In([]any{map[string]any{"x": tc.text}}) != (tc.text != tc.want) ||
				secrets.In(map[string]any{tc.text: 1}) != (tc.text != tc.want) {
				t.Errorf("%s: In disagrees with Redact", tc.reason)
			}
		})
	}
}

func TestSecretsOfWhatTheAPIServerWouldntTake(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, field string
		value         any
		text, want    string
	}{
		"a number": {"its text is the value", "stringData", map[string]any{"tier": int64(123456789)}, "is 123456789",
			"is [censored]"},
		"a number as float64": {"in each form that it is told in", "data", map[string]any{"tier": float64(123456789)},
			"123456789, 1.23456789e+08", "[censored], [censored]"},
		"a short number": {"it is in every text", "stringData", map[string]any{"pin": int64(42)}, "line 42",
			"line 42"},
		"a text in place of the map": {"it is all there is", "data", hunter, "is " + hunter, "is [censored]"},
		"an encoded text in its place": {"Rego decodes it easily", "data", encoded(hunter), "is " + hunter,
			"is [censored]"},
		"a list": {"at any depth", "data", []any{[]any{encoded(hunter)}}, hunter + encoded(hunter),
			"[censored][censored]"},
		"a map in a map": {"at any depth", "stringData", map[string]any{"a": map[string]any{"b": []any{hunter}}},
			hunter, "[censored]"},
		"true": {"the word is in many texts, and tells nothing", "stringData", map[string]any{"a": true},
			"must be true", "must be true"},
		"nothing": {"there is nothing to tell", "data", nil, "must be null", "must be null"},
	} {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{"apiVersion": "v1", "kind": "Secret", tc.field: tc.value}
			if got := policy.SecretsOf(object).Redact(tc.text); got != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
			policy.CensorPair(object, object) // which compares what may not be comparable
		})
	}
	pinned := secret(map[string]any{"tier": int64(123456789)})
	d := policy.Decision{Violations: []policy.Violation{{Details: map[string]any{"was": int64(123456789)}}}}
	got := d.Censor(&policy.Request{Object: pinned}).Violations[0].Details
	if diff := cmp.Diff(any(map[string]any{"was": policy.Censored}), any(got)); diff != "" {
		t.Errorf("a number in details: -want +got\n%s", diff)
	}
	if !policy.SecretsOf(pinned).In([]any{int64(123456789)}) {
		t.Error("In doesn't see a number")
	}
}

func TestCensorDecision(t *testing.T) {
	actions := []policy.Action{
		{Type: policy.ActionPatch, Ops: []policy.PatchOp{{Op: "test", Path: "/data/p", Value: encoded(hunter)}}}}
	d := policy.Decision{Violations: []policy.Violation{
		{Message: "weak: " + hunter, Path: "/data/p",
			Details: map[string]any{"was": []any{encoded(hunter), int64(3)}}}},
		Warnings: []policy.Violation{{Message: hunter}}, Actions: actions, Err: errors.New("can't read " + hunter)}
	got := d.Censor(&policy.Request{Object: secret(map[string]any{"p": encoded(hunter)})})
	want := []policy.Violation{
		{Message: "weak: [censored]", Path: "/data/p", Details: map[string]any{"was": []any{"[censored]", int64(3)}}}}
	if diff := cmp.Diff(want, got.Violations); diff != "" {
		t.Errorf("violations: -want +got\n%s", diff)
	}
	if got.Warnings[0].Message != policy.Censored || got.Err.Error() != "can't read [censored]" {
		t.Errorf("warning %q, error %v", got.Warnings[0].Message, got.Err)
	}
	if diff := cmp.Diff(actions, got.Actions); diff != "" {
		t.Errorf("a fix must be sent as it is: -want +got\n%s", diff)
	}
	if d.Violations[0].Message != "weak: "+hunter {
		t.Error("the decision itself was changed: it may be shared")
	}
	other := d.Censor(&policy.Request{
		Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"p": hunter}}})
	if diff := cmp.Diff(d.Violations, other.Violations); diff != "" {
		t.Errorf("what isn't a Secret is told as it is: -want +got\n%s", diff)
	}
}

func TestCensorPairTellsWhichValuesDiffer(t *testing.T) {
	before, after := secret(map[string]any{"kept": encoded(hunter), "set": encoded("one-word")}),
		secret(map[string]any{"kept": encoded(hunter), "set": encoded("two-words"), "new": encoded("three")})
	after["metadata"].(map[string]any)["labels"] = map[string]any{"copy": hunter}
	gotBefore, gotAfter := policy.CensorPair(before, after)
	if diff := cmp.Diff(map[string]any{"kept": "[censored]", "set": "[censored]"}, gotBefore["data"]); diff != "" {
		t.Errorf("before: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"kept": "[censored]", "set": "[censored, as the fix sets it]",
		"new": "[censored, as the fix sets it]"}, gotAfter["data"]); diff != "" {
		t.Errorf("after: -want +got\n%s", diff)
	}
	text, err := json.Marshal([]any{gotBefore, gotAfter})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range policy.SecretsOf(before, after) {
		if strings.Contains(string(text), value) {
			t.Errorf("%q is told: %s", value, text)
		}
	}
	if before["data"].(map[string]any)["kept"] != encoded(hunter) || !strings.Contains(string(text), `"team":"shop"`) {
		t.Errorf("the object itself was changed, or too much is censored: %s", text)
	}
	config := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"state": "bad"}}
	if b, a := policy.CensorPair(config, config); cmp.Diff(config, b) != "" || cmp.Diff(config, a) != "" {
		t.Error("what isn't a Secret is told as it is")
	}
}

func TestSecretPlace(t *testing.T) {
	for pointer, want := range map[string]bool{
		"/data": true, "/data/password": true, "/stringData/x": true,
		"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration": true,
		"/metadata/annotations/team": false, "/metadata/labels/data": false, "/immutable": false, "/database": false,
		"": false, "/type": false,
	} {
		if got := policy.SecretPlace(pointer); got != want {
			t.Errorf("SecretPlace(%q) = %t", pointer, got)
		}
	}
}
