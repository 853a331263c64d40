// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

// FuzzApply: no object and no patch may make Apply panic, change its input, or
// answer with something that isn't an object; and what Diff says of the two
// sides is what Observe finds in them.
func FuzzApply(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"spec":{"a":[1,2]}}`, `[{"op":"add","path":"/spec/a/-","value":3}]`},
		{`{"spec":{"a":[1,2]}}`, `[{"op":"remove","path":"/spec/a/-1"},{"op":"move","from":"/spec/a","path":"/spec"}]`},
		{`{"a/b":{"m~n":null}}`,
			`[{"op":"copy","from":"/a~1b","path":"/a~1b/m~0n"},{"op":"test","path":"/a~1b/m~0n/m~0n","value":null}]`},
		{`{"":""}`, `[{"op":"replace","path":"/","value":{}},{"op":"add","path":"","value":null}]`},
		{`{"c":[{"name":"x","i":1},{"name":"x","i":2}]}`,
			`[{"op":"replace","path":"/c/0/i","value":1.5},{"op":"test","path":"/c","value":[]}]`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, object, patch string) {
		var before map[string]any
		var ops []policy.PatchOp
		if utiljson.Unmarshal([]byte(object), &before) != nil || before == nil ||
			json.Unmarshal([]byte(patch), &ops) != nil {
			t.Skip("not an object and a patch")
		}
		was := text(before)
		after, err := action.Apply(before, patchOf(ops...))
		if text(before) != was {
			t.Fatalf("the object was changed: %s, was %s", text(before), was)
		}
		if err != nil {
			return
		}
		if after == nil {
			t.Fatal("no object, and no error")
		}
		checkFields(t, before, after)
	})
}

func checkFields(t *testing.T, before, after map[string]any) {
	t.Helper()
	fields := action.Diff(before, after)
	for i, seen := range action.Observe(after, fields) {
		if seen.HasAfter != fields[i].HasAfter || !cmp.Equal(seen.After, fields[i].After) {
			t.Fatalf("after: Diff says %+v, Observe %+v", fields[i], seen)
		}
	}
	for i, seen := range action.Observe(before, fields) {
		if seen.HasAfter != fields[i].HasBefore || !cmp.Equal(seen.After, fields[i].Before) {
			t.Fatalf("before: Diff says %+v, Observe %+v", fields[i], seen)
		}
	}
	if len(action.Diff(after, after)) > 0 {
		t.Fatal("an object differs from itself")
	}
}
