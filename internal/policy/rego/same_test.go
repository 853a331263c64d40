// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// TestWhatSeemsTheSameIsAskedAgain has rules of which the first object is clean and the second isn't, where little tells
// the two apart: each was found by somebody who looked for rules that a memory would take for clean.
func TestWhatSeemsTheSameIsAskedAgain(t *testing.T) {
	named := func(name any) func(*policy.Request) {
		return func(r *policy.Request) { policy.Metadata(r.Object)["name"] = name }
	}
	list := func(elements ...any) func(*policy.Request) {
		return func(r *policy.Request) {
			spec := map[string]any{"list": elements, "z": int64(5),
				"list2": []any{map[string]any{"a": int64(5), "k": "fixed"}}}
			r.Object["spec"] = spec
		}
	}
	element := func(a int64) func(*policy.Request) { return list(map[string]any{"a": a, "k": "x"}) }
	bare := func(name any) func(*policy.Request) {
		return func(r *policy.Request) {
			named(name)(r)
			delete(r.Object["spec"].(map[string]any)["template"].(map[string]any), "metadata")
		}
	}
	const (
		fixed = `deny contains "x" if { a := [c.k | c := s[_]]; a[0] == "fixed" }` + "\n"
		one   = `deny contains "x" if { a := [c.k | c := s[_]]; count(a) == 1 }` + "\n"
		given = "s contains c if some c in input.object.spec.list\n"
	)
	for name, tc := range map[string]struct {
		rules         string
		deployment    bool
		clean, follow func(*policy.Request)
	}{
		"an element under with": {`deny contains m if { input.object.spec.bad == true; m := input.object.metadata.name }` +
			"\n" + `warn contains "evil" if { deny["evil"] with input.object.spec.bad as true }`, false,
			named("good"), named("evil")},
		"a message under with": {`deny contains m if { input.object.spec.bad == true; ` +
			`m := sprintf("x%v", [input.object.metadata.name]) }` + "\n" +
			`warn contains "evil" if { deny["xevil"] with input.object.spec.bad as true }`, false,
			named("good"), named("evil")},
		"a set under with": {`deny contains {"msg": m} if { input.object.spec.bad == true; ` +
			`m := input.object.metadata.name }` + "\n" + `warn contains "evil" if { ` +
			`x := deny with input.object.spec.bad as true; {"msg": "evil"} in x }`, false, named("good"), named("evil")},
		"another rule's element under with": {`deny contains m if { input.object.spec.bad == true; ` +
			`m := input.object.metadata.name }` + "\nh := deny\n" +
			`warn contains "evil" if { some x in h with input.object.spec.bad as true; x == "evil" }`, false,
			named("good"), named("evil")},
		"a constant's place": {`s contains {"a": 5, "k": "fixed"}` + "\n" + given + fixed, false, element(1), element(9)},
		"one that equals a constant": {`s contains {"a": 5, "k": "x"}` + "\n" + given + one, false, element(1),
			element(5)},
		"a text that equals a constant": {`s contains "m"` + "\n" + given +
			`deny contains "x" if { a := [1 | s[_]]; count(a) == 1 }`, false, list("a"), list("m")},
		"what is made": {`s contains {"a": input.object.spec.z, "k": "fixed"}` + "\n" + given + fixed, false, element(1),
			element(9)},
		"what a rule holds": {`extra := [{"a": 5, "k": "fixed"}]` + "\ns contains c if some c in extra\n" + given + fixed,
			false, element(1), element(9)},
		"what a function gives": {"id(x) := y if y := x\n" +
			"s contains id(c) if some c in input.object.spec.list2\n" + given + fixed, false, element(1), element(9)},
		"an element of a set with a constant": {`f contains {"a": 5, "k": "fixed"}` + "\n" +
			"f contains c if some c in input.object.spec.list\ns contains c if some c in f\n" + fixed, false,
			element(1), element(9)},
		"a list that with brings": {given + "s contains c if some c in input.object.spec.extra\n" +
			`deny contains "x" if { a := [c.k | c := s[_]] with input.object.spec.extra as [{"a": 5, "k": "fixed"}]; ` +
			`a[0] == "fixed" }`, false, element(1), element(9)},
		"a list that with brings to another rule": {given + "s contains c if some c in input.object.spec.extra\n" +
			`bad if { a := [c.k | c := s[_]]; a[0] == "fixed" }` + "\n" +
			`deny contains "x" if bad with input.object.spec.extra as [{"a": 5, "k": "fixed"}]`, false, element(1),
			element(9)},
		"a Pod's name that is false": {`deny contains "x" if not input.pod.metadata.name`, true, bare("web"), bare(false)},
		"a Pod's name beside its namespace": {"vals contains v if v := input.pod.metadata[_]\n" +
			`deny contains "x" if count([1 | vals[_]]) == 1`, true, bare("web"), bare("team")},
	} {
		t.Run(name, func(t *testing.T) {
			anew := compile(t, podPolicy(header+tc.rules)).On(rego.CompiledEngine)
			reusing := anew.Reusing()
			first, second := richRequest(tc.deployment), richRequest(tc.deployment)
			tc.clean(first)
			tc.follow(second)
			found := func(c *rego.Compiled, r *policy.Request) int {
				in, err := rego.NewInputOf(r, rego.ReadBy(r.Kind.GroupKind(), c))
				if err != nil {
					t.Fatal(err)
				}
				got := c.Evaluate(t.Context(), in, time.Minute)
				if got.Err != nil || got.Engine != rego.CompiledEngine {
					t.Fatalf("by %s: %v", got.Engine, got.Err)
				}
				return len(got.Violations) + len(got.Warnings)
			}
			if n := found(reusing, first); n > 0 {
				t.Fatalf("the first has %d", n)
			}
			if want, got := found(anew, second), found(reusing, second); want == 0 || got != want {
				t.Errorf("of the second %d are found, with a memory %d", want, got)
			}
		})
	}
}
