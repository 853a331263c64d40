// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

const header = "package test\n\nimport rego.v1\n\n"

func TestEvaluateReadsResults(t *testing.T) {
	cases := map[string]struct {
		reason string
		rego   string
		params string
		want   policy.Decision
	}{
		"a set of strings": {
			reason: "conftest's form",
			rego:   `deny contains "no" if input.object.kind == "Pod"`,
			want:   policy.Decision{Violations: []policy.Violation{{Message: "no"}}},
		},
		"a set of objects": {
			reason: "Gatekeeper's form, with a path",
			rego:   `violation contains {"msg": "no", "path": "/spec/hostPID", "details": {"n": 1, "f": 1.5, "s": {2, 1}}} if true`,
			want: policy.Decision{Violations: []policy.Violation{{
				Message: "no", Path: "/spec/hostPID",
				Details: map[string]any{"n": int64(1), "f": 1.5, "s": []any{int64(1), int64(2)}},
			}}},
		},
		"deny and violation together": {
			reason: "both follow the enforcement action; what both say is said once; order is by path, then message",
			rego: `
deny contains "b" if true
deny contains {"msg": "a", "path": "/z"} if true
violation contains "b" if true
violation contains "a" if true`,
			want: policy.Decision{
				Violations: []policy.Violation{{Message: "a"}, {Message: "b"}, {Message: "a", Path: "/z"}}},
		},
		"an array": {
			reason: "a complete rule may give a list",
			rego:   `deny := ["x", {"msg": "y"}]`,
			want:   policy.Decision{Violations: []policy.Violation{{Message: "x"}, {Message: "y"}}},
		},
		"an undefined rule": {
			reason: "a complete rule whose body fails says nothing",
			rego:   `deny := ["x"] if input.object.kind == "Node"`,
			want:   policy.Decision{},
		},
		"a warning without violation": {
			reason: "warn only warns, so nothing is proposed",
			rego: `
warn contains "old" if true
remediation contains {"action": "patch", "ops": [{"op": "remove", "path": "/spec"}]} if true`,
			want: policy.Decision{Warnings: []policy.Violation{{Message: "old"}}},
		},
		"actions": {
			reason: "several patches are sorted by content; null is a value",
			rego: `
deny contains "no" if true
remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/spec/b", "value": null}]} if true
remediation contains {"action": "patch", "ops": [{"op": "move", "path": "/spec/a", "from": "/spec/c"}, {"op": "remove", "path": "/spec/d"}]} if true`,
			want: policy.Decision{
				Violations: []policy.Violation{{Message: "no"}},
				Actions: []policy.Action{
					{Type: policy.ActionPatch, Ops: []policy.PatchOp{
						{Op: "move", Path: "/spec/a", From: "/spec/c"}, {Op: "remove", Path: "/spec/d"},
					}},
					{Type: policy.ActionPatch, Ops: []policy.PatchOp{{Op: "replace", Path: "/spec/b", HasValue: true}}},
				},
			},
		},
		"unset parameters": {
			reason: "input.parameters is an empty object then",
			rego:   `deny contains "empty" if input.parameters == {}`,
			want:   policy.Decision{Violations: []policy.Violation{{Message: "empty"}}},
		},
		"parameters in each position": {
			reason: "whole, iterated, as a key, within a comprehension and behind `with`",
			params: `{"allowed": ["x", "y"], "key": "kind", "deep": {"n": 9007199254740993}}`,
			rego: `
deny contains sprintf("some %s", [a]) if some a in input.parameters.allowed
deny contains sprintf("count %d", [count({k | input.parameters[k]})]) if true
deny contains sprintf("key %s", [input.object[input.parameters.key]]) if true
deny contains "big" if input.parameters.deep.n == 9007199254740993
deny contains "every" if every a in input.parameters.allowed { a != "z" }
deny contains "with" if helper with input.parameters as {"other": true}
helper if input.parameters.other`,
			want: policy.Decision{Violations: []policy.Violation{
				{Message: "big"}, {Message: "count 3"}, {Message: "every"}, {Message: "key Pod"},
				{Message: "some x"}, {Message: "some y"}, {Message: "with"},
			}},
		},
		"the time of the request": {
			reason: "time.now_ns is what the caller says, not the machine's clock",
			rego:   `deny contains sprintf("%d", [time.now_ns()]) if true`,
			want:   policy.Decision{Violations: []policy.Violation{{Message: "1700000000000000000"}}},
		},
		"print and trace": {
			reason: "they're harmless, so they do nothing",
			rego:   `deny contains "no" if { print("x"); trace("y") }`,
			want:   policy.Decision{Violations: []policy.Violation{{Message: "no"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := podPolicy(header + tc.rego)
			if tc.params != "" {
				p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(tc.params)}
			}
			got := judge(t, p, podRequest())
			if got.Err != nil {
				t.Fatalf("Err = %v", got.Err)
			}
			tc.want.Policy, tc.want.Revision, tc.want.Engine = p.Name, rego.Revision(p), rego.Topdown
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: decision (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestEvaluateRefusesMalformedResults(t *testing.T) {
	const patch = `deny contains "no" if true
remediation contains %s if true`
	fix := func(element string) string { return strings.Replace(patch, "%s", element, 1) }
	cases := map[string]struct {
		reason string
		rego   string
		want   []string
	}{
		"a boolean rule": {"deny isn't a set", `deny if true`, []string{"rule deny is a boolean"}},
		"an object rule": {"deny isn't a set", `deny[k] := v if some k, v in {"a": 1}`,
			[]string{"rule deny is an object"}},
		"a number": {
			"not a message", `deny contains 7 if true`, []string{"rule deny, element 7", "it is a number"}},
		"an empty message": {"it says nothing", `deny contains "" if true`, []string{"the message is empty"}},
		"an object without msg": {"it says nothing", `violation contains {"details": 1} if true`,
			[]string{"rule violation", "msg must be a string"}},
		"an unknown key": {"perhaps misspelt", `warn contains {"msg": "x", "detials": 1} if true`,
			[]string{"rule warn", `unknown key "detials"`}},
		"a path that isn't one": {
			"dots aren't JSON Pointer", `deny contains {"msg": "x", "path": "spec.a"} if true`,
			[]string{`"spec.a" isn't a JSON Pointer`}},
		"a path of another type": {
			"a list isn't JSON Pointer", `deny contains {"msg": "x", "path": ["spec"]} if true`,
			[]string{"path must be a string"}},
		"a bad escape": {"RFC 6901 has ~0 and ~1", `deny contains {"msg": "x", "path": "/a~2b"} if true`,
			[]string{"~0"}},
		"details with number keys": {"not JSON", `deny contains {"msg": "x", "details": {1: 2}} if true`,
			[]string{"key 1 isn't a string"}},
		"an unknown verb": {"perhaps another tool's", fix(`{"action": "destroy"}`),
			[]string{"rule remediation", `unknown action "destroy"`}},
		"an action without verb": {"nothing to do", fix(`{"ops": []}`), []string{"action must be a string"}},
		"an action that is nearly one": {"perhaps misspelt", fix(`{"action": "patsh"}`),
			[]string{`unknown action "patsh"`, "; did you mean patch?"}},
		"an unknown action key": {"perhaps misspelt", fix(`{"action": "patch", "ops": [], "force": true}`),
			[]string{`unknown key "force"`}},
		"an action that is a text": {"not an object", fix(`"patch"`), []string{"it is a string"}},
		"no operation":             {"nothing to do", fix(`{"action": "patch", "ops": []}`), []string{"at least one"}},
		"an unknown operation": {
			"not of RFC 6902", fix(`{"action": "patch", "ops": [{"op": "set", "path": "/a", "value": 1}]}`),
			[]string{`ops[0]`, `unknown op "set"`}},
		"a missing value": {"add needs one", fix(`{"action": "patch", "ops": [{"op": "add", "path": "/a"}]}`),
			[]string{"add needs a value"}},
		"a missing from": {
			"copy needs one", fix(`{"action": "patch", "ops": [{"op": "copy", "path": "/a"}]}`),
			[]string{"from must be a string"}},
		"a value on remove": {
			"perhaps meant to be replace",
			fix(`{"action": "patch", "ops": [{"op": "remove", "path": "/a", "value": 1}]}`),
			[]string{`unknown key "value"`}},
		"an operation on the whole": {
			"no rule may replace the object",
			fix(`{"action": "patch", "ops": [{"op": "replace", "path": "", "value": {}}]}`),
			[]string{"the path is empty"}},
		"a relative operation path": {
			"not JSON Pointer", fix(`{"action": "patch", "ops": [{"op": "remove", "path": "a/b"}]}`),
			[]string{`"a/b" isn't a JSON Pointer`}},
		"an operation of text": {"not an object", fix(`{"action": "patch", "ops": ["remove"]}`),
			[]string{"ops[0]: it must be an object"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := judge(t, podPolicy(header+tc.rego), podRequest())
			if strings.Contains(tc.rego, ruleOfFixes) {
				wantFixError(t, tc.reason, got, tc.want...)
			} else {
				wantError(t, tc.reason, got, tc.want...)
			}
		})
	}
}

const ruleOfFixes = "remediation contains"

func TestEvaluateReportsRuntimeErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		rego   string
		want   []string
	}{
		"a conflict of complete rules": {
			reason: "two values for one rule",
			rego:   "value := 1 if input.object\nvalue := 2 if input.object.kind\ndeny contains \"x\" if value == 1",
			want:   []string{"rule deny", "eval_conflict_error", "test.rego:", "join them by else"},
		},
		"a conflict of functions": {
			reason: "two values for the same arguments",
			rego:   "f(x) := 1 if x.kind\nf(x) := 2 if x.metadata\ndeny contains \"x\" if f(input.object) == 1",
			want:   []string{"eval_conflict_error", "test.rego:", "let them exclude one another"},
		},
		"a key with two values": {
			reason: "a comprehension can't choose",
			rego:   "m := {k: v | some v in [1, 2]; k := input.object.kind}\ndeny contains \"x\" if m.Pod == 1",
			want:   []string{"eval_conflict_error", "test.rego:", "make the key unique"},
		},
		"a built-in that fails": {
			reason: "strict: without it, the rule would pass silently",
			rego:   `deny contains "x" if to_number(input.object.metadata.name) > 1`,
			want:   []string{"rule deny", "to_number", "test.rego:5"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := judge(t, podPolicy(header+tc.rego), podRequest())
			wantError(t, tc.reason, got, tc.want...)
		})
	}
}

func TestEvaluateStopsAtItsLimit(t *testing.T) {
	cases := map[string]struct{ reason, rego string }{
		"nested loops": {
			reason: "a policy of ours in a loop",
			rego: `deny contains "x" if {
	some a in numbers.range(1, 100000)
	some b in numbers.range(1, 100000)
	a + b == -1
}`,
		},
		"many calls of one built-in": {
			reason: "each is short, and the engine is asked between them",
			rego:   `deny contains "x" if { some a in numbers.range(1, 100000); count(numbers.range(1, 10000 + a)) == 0 }`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := compile(t, podPolicy(header+tc.rego))
			got := c.Evaluate(t.Context(), input(t, podRequest()), 20*time.Millisecond)
			wantError(t, tc.reason, got, "stopped at its time limit of 20ms")
			if !errors.Is(got.Err, rego.ErrTimeLimit) {
				t.Errorf("%s: %v isn't ErrTimeLimit", tc.reason, got.Err)
			}
		})
	}
}

func TestEvaluateEndsWithItsContext(t *testing.T) {
	c := compile(t, podPolicy(
		header+
			`deny contains "x" if { some a in numbers.range(1, 100000); some b in numbers.range(1, 100000); a + b == -1 }`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := c.Evaluate(ctx, input(t, podRequest()), time.Hour)
	if !errors.Is(got.Err, context.Canceled) {
		t.Errorf("Err = %v, want context.Canceled", got.Err)
	}
}

func TestEvaluateContainsAPanic(t *testing.T) {
	got := compile(t, podPolicy(header+`deny contains "x" if true`)).Evaluate(t.Context(), nil, time.Second)
	wantError(t, "a nil input makes the engine panic", got, "policy test:", "panicked")
}

func TestEvaluateIsDeterministic(t *testing.T) {
	p := podPolicy(header + `
deny contains {"msg": sprintf("%s %v", [k, v]), "details": {x | some x in input.parameters.list}, "path": "/metadata"} if some k, v in input.object.metadata.labels
warn contains k if some k, _ in input.object.metadata.labels
remediation contains {"action": "patch", "ops": [{"op": "remove", "path": sprintf("/metadata/labels/%s", [k])}]} if some k, _ in input.object.metadata.labels`)
	p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(`{"list": ["c", "a", "b"]}`)}
	r := podRequest()
	labels := map[string]any{}
	for _, key := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		labels[key] = key
	}
	r.Object["metadata"].(map[string]any)["labels"] = labels
	var first string
	for range 100 {
		text, err := json.Marshal(judge(t, p, r))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(text)
		}
		if diff := cmp.Diff(first, string(text)); diff != "" {
			t.Fatalf("another decision on the same input:\n%s", diff)
		}
	}
}

func TestEvaluateReadsV0(t *testing.T) {
	p := podPolicy("package test\n\nimport future.keywords.in\n\nviolation[{\"msg\": msg}] {\n  some c in " +
		"input.review.object.spec.containers\n  msg := c.name\n}\n")
	p.Spec.Rego.Version = v1alpha1.RegoV0
	got := judge(t, p, podRequest())
	want := []policy.Violation{{Message: "app"}}
	if diff := cmp.Diff(want, got.Violations); diff != "" || got.Err != nil {
		t.Errorf("Err = %v, violations (-want +got):\n%s", got.Err, diff)
	}
}
