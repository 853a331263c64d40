// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// FuzzEvaluate judges any JSON object as each kind: the engine never panics, and
// the same object gets the same decision.
func FuzzEvaluate(f *testing.F) {
	f.Add([]byte(`{"metadata": {"name": "a"}, "spec": {"hostPID": true}}`), uint8(0))
	f.Add([]byte(`{"metadata": [], "spec": {"template": {"metadata": 1, "spec": {"hostPID": true}}}}`), uint8(2))
	f.Add([]byte(`{"spec": {"jobTemplate": {"spec": {"template": {"spec": null}}}}}`), uint8(6))
	f.Add([]byte(`{"spec": {"template": {"spec": {"hostPID": 1e300}}}}`), uint8(1))
	c := compile(f, podPolicy(hostPID))
	kinds := append([]policy.GroupKind{policy.PodKind(), {Kind: "Service"}}, policy.PodTemplateKinds()...)
	f.Fuzz(func(t *testing.T, text []byte, kind uint8) {
		var object map[string]any
		if json.Unmarshal(text, &object) != nil || object == nil {
			t.Skip("not a JSON object")
		}
		r := podRequest()
		chosen := kinds[int(kind)%len(kinds)]
		r.Kind = policy.GroupVersionKind{Group: chosen.Group, Version: "v1", Kind: chosen.Kind}
		r.Object = object
		first := evaluated(t, c, r)
		if diff := cmp.Diff(first, evaluated(t, c, r)); diff != "" {
			t.Errorf("another decision on the same object:\n%s", diff)
		}
	})
}

// evaluated is the decision as text; the policy has no way to fail on any object
// but a message that isn't one.
func evaluated(t *testing.T, c *rego.Compiled, r *policy.Request) string {
	t.Helper()
	decision := c.Evaluate(t.Context(), input(t, r), time.Minute)
	text, err := json.Marshal(struct {
		Violations []policy.Violation
		Actions    []policy.Action
		Failed     bool
	}{decision.Violations, decision.Actions, decision.Err != nil})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
