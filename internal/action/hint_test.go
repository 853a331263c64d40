// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

func TestHint(t *testing.T) {
	patch := func(ops ...policy.PatchOp) []policy.Action {
		return []policy.Action{{Type: policy.ActionPatch, Ops: ops}}
	}
	var many []policy.PatchOp
	for i := range 30 {
		many = append(many, policy.PatchOp{
			Op: "remove", Path: fmt.Sprintf("/spec/template/spec/containers/%d/securityContext", i)})
	}
	cases := map[string]struct {
		actions []policy.Action
		secret  bool
		want    string
	}{
		"no fix has no text": {want: ""},
		"a value is told as JSON": {
			actions: patch(policy.PatchOp{Op: "add", Path: "/spec/x", Value: map[string]any{"a": int64(1)}}),
			want:    `set /spec/x to {"a":1}`},
		"null is a value": {
			actions: patch(policy.PatchOp{Op: "replace", Path: "/spec/x", HasValue: true}),
			want:    "set /spec/x to null"},
		"the value of a Secret isn't told": {
			actions: patch(policy.PatchOp{Op: "add", Path: "/data/x", Value: "c2VjcmV0"}), secret: true,
			want: "set /data/x"},
		"a test operation is no change": {
			actions: patch(policy.PatchOp{Op: "test", Path: "/spec/x"}, policy.PatchOp{Op: "remove", Path: "/spec/x"}),
			want:    "remove /spec/x"},
		"a move names both ends": {
			actions: patch(policy.PatchOp{Op: "move", From: "/spec/a", Path: "/spec/b"}),
			want:    "move /spec/a to /spec/b"},
		"other verbs are told in words": {
			actions: []policy.Action{
				{Type: policy.ActionCreate,
					Object: map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "c"}}},
				{Type: policy.ActionRestart}, {Type: policy.ActionScale, Replicas: 3}, {Type: policy.ActionEvict},
				{Type: policy.ActionDelete}},
			want: "create ConfigMap c, restart its Pods, scale it to 3, evict it, delete it"},
		"a long fix is cut and says what's left": {actions: patch(many...), want: wantCut(many)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, action.Hint(tc.actions, tc.secret)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// wantCut is what the bound of 400 bytes leaves of steps of 51 and 52 bytes.
func wantCut(ops []policy.PatchOp) string {
	var shown []string
	for _, op := range ops[:7] {
		shown = append(shown, "remove "+op.Path)
	}
	return strings.Join(shown, ", ") + ", and 23 more changes"
}
