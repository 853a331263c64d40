// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// ofGatekeeper is a policy as the migration makes it of a template: in Rego v0, and not strict.
func ofGatekeeper(rules string) *v1alpha1.ClusterRegoPolicy {
	p := podPolicy("package test\n\n" + rules)
	p.Spec.Rego.Version, p.Spec.Rego.StrictBuiltinErrors = v1alpha1.RegoV0, ptr.To(false)
	return p
}

// TestViolationsAreThoseOfGatekeeper holds what is read of each form of result. What Gatekeeper makes of it was told by
// its engine (hack/bench/gator/engine).
func TestViolationsAreThoseOfGatekeeper(t *testing.T) {
	one := []policy.Violation{{Message: "m"}}
	for name, tc := range map[string]struct {
		reason, rules string
		want          []policy.Violation
		// strict is part of the error of the same rules in a policy of Evenkeel's own; empty for none.
		strict string
	}{
		"a message": {"the form of most", `violation[{"msg": "m"}]`, one, ""},
		"more keys": {"msg and details alone are read", `violation[{"msg": "m", "resource": "r"}]`, one, "unknown key"},
		"a path":    {"that is one more key", `violation[{"msg": "m", "path": "spec"}]`, one, "path"},
		"keys that differ": {"the same is said once", `violation[{"msg": "m", "n": n}] { n := [1, 2][_] }`, one,
			"unknown key"},
		"a string beside": {"r.msg is undefined",
			"violation[\"text\"]\nviolation[{\"msg\": \"m\"}]", one, ""},
		"a string that has no type": {"likewise", `violation[r] { r := input.review.kind.kind }`, nil, ""},
		"no message beside": {"likewise", "violation[{\"details\": 1}]\nviolation[{\"msg\": \"m\"}]", one,
			"msg must be a string"},
		"no message": {"likewise", `violation[r] { r := json.unmarshal("{}") }`, nil, "msg must be a string"},
		"a list":     {"likewise", `violation[r] { r := json.unmarshal("[1]") }`, nil, "it must be a string or"},
		"an empty message": {"it is one", `violation[{"msg": ""}]`,
			[]policy.Violation{{Message: `the rule gave no message but {"msg": ""}`}}, "is empty"},
		"empty details": {"they are none",
			"violation[{\"msg\": \"m\", \"details\": {}}]\nviolation[{\"msg\": \"m\"}]", one, ""},
		"details that are null": {"they aren't {}",
			"violation[{\"msg\": \"m\", \"details\": null}]\nviolation[{\"msg\": \"m\"}]",
			[]policy.Violation{{Message: "m"}, {Message: "m"}}, ""},
		"details by numbers": {"JSON has strings for keys", `violation[{"msg": "m", "details": {1: {["a"]: 2}}}]`,
			[]policy.Violation{{Message: "m", Details: map[string]any{"1": map[string]any{`["a"]`: int64(2)}}}},
			"isn't a string"},
		"a complete set":  {"r is an element", `violation = {{"msg": "m"}}`, one, ""},
		"keys of objects": {"r is a key", `violation[{"msg": "m"}] = 1 { true }`, one, "it must be a set"},
		"a list as rule":  {"r is an index", `violation = json.unmarshal("[{\"msg\": \"m\"}]")`, nil, ""},
		"a text as rule":  {"there is no r", `violation = json.unmarshal("\"m\"")`, nil, "it must be a set"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ofGatekeeper(tc.rules)
			c := compile(t, p)
			got := evaluate(t, c, input(t, podRequest()), time.Minute)
			if got.Err != nil {
				t.Errorf("%s: %v", tc.reason, got.Err)
			}
			if diff := cmp.Diff(tc.want, got.Violations); diff != "" || !c.TakenByGatekeeper() {
				t.Errorf("%s, taken by Gatekeeper: %t (-want +got):\n%s", tc.reason, c.TakenByGatekeeper(), diff)
			}
			by := c.On(rego.CompiledEngine).Evaluate(t.Context(), input(t, podRequest()), time.Minute)
			if by.Engine != rego.CompiledEngine {
				t.Errorf("it is left to topdown: %s", by.WhyTopdown)
			}
			p.Spec.Rego.StrictBuiltinErrors = nil
			if strict := judge(t, p, podRequest()); tc.strict != "" {
				wantError(t, "a policy of Evenkeel's own", strict, tc.strict)
			} else if strict.Err != nil {
				t.Errorf("a policy of Evenkeel's own: %v", strict.Err)
			}
		})
	}
}

// TestAMessageThatIsNoStringIsAnError has such a violation count, since Gatekeeper's webhook answers with an error, and
// refuses the request.
func TestAMessageThatIsNoStringIsAnError(t *testing.T) {
	got := judge(t, ofGatekeeper(`violation[{"msg": 5}]`), podRequest())
	wantError(t, "as in Gatekeeper", got, "msg must be a string")
	if len(got.Violations) != 1 {
		t.Errorf("violations %v, want one", got.Violations)
	}
}

// TestWhatGatekeeperDoesNotTakeIsReadAsItStands has no rule say nothing for its form: of one that Gatekeeper's compiler
// refuses, the elements are read as in any policy.
func TestWhatGatekeeperDoesNotTakeIsReadAsItStands(t *testing.T) {
	for _, rules := range []string{`violation["m"]`, `violation = ["m"]`, `violation[m] { m := sprintf("%s", ["m"]) }`,
		`deny["m"]`} {
		p := ofGatekeeper(rules)
		if compile(t, p).TakenByGatekeeper() {
			t.Errorf("%s: Gatekeeper takes it", rules)
		}
		got := judge(t, p, podRequest())
		if diff := cmp.Diff([]policy.Violation{{Message: "m"}}, got.Violations); diff != "" || got.Err != nil {
			t.Errorf("%s, error %v (-want +got):\n%s", rules, got.Err, diff)
		}
	}
}
