// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy"
)

func fixing(element string) string {
	return header + "deny contains \"no\" if true\nremediation contains " + element + " if true"
}

func TestVerbs(t *testing.T) {
	cases := map[string]struct {
		reason  string
		element string
		want    policy.Action
	}{
		"a patch of the status": {
			reason:  "it is sent to the subresource",
			element: `{"action": "patch", "subresource": "status", "ops": [{"op": "remove", "path": "/status/phase"}]}`,
			want: policy.Action{Type: policy.ActionPatch, Subresource: "status",
				Ops: []policy.PatchOp{{Op: "remove", Path: "/status/phase"}}},
		},
		"a creation": {
			reason:  "the manifest is the policy's, whole",
			element: `{"action": "create", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"n": "1"}}}`,
			want: policy.Action{Type: policy.ActionCreate,
				Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
					"metadata": map[string]any{"name": "x"}, "data": map[string]any{"n": "1"}}},
		},
		"a deletion": {"the judged object is meant", `{"action": "delete"}`,
			policy.Action{Type: policy.ActionDelete}},
		"an eviction": {"the judged Pod is meant", `{"action": "evict"}`,
			policy.Action{Type: policy.ActionEvict}},
		"a restart": {"the judged workload is meant", `{"action": "restart"}`,
			policy.Action{Type: policy.ActionRestart}},
		"a scaling": {"to a number", `{"action": "scale", "replicas": 3}`,
			policy.Action{Type: policy.ActionScale, Replicas: 3}},
		"a scaling to none": {"zero is a number too", `{"action": "scale", "replicas": 0}`,
			policy.Action{Type: policy.ActionScale}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := judge(t, podPolicy(fixing(tc.element)), podRequest())
			if diff := cmp.Diff([]policy.Action{tc.want}, got.Actions); diff != "" || got.Err != nil {
				t.Errorf("%s: actions (-want +got):\n%s\n%v", tc.reason, diff, got.Err)
			}
		})
	}
}

func TestVerbsRefuseWhatTheyDoNotKnow(t *testing.T) {
	cases := map[string]struct {
		reason  string
		element string
		want    string
	}{
		"another subresource": {
			"scale has a verb of its own",
			`{"action": "patch", "subresource": "scale", "ops": [{"op": "remove", "path": "/spec/replicas"}]}`,
			`the only one that may be patched is "status"`},
		"a status patch of the spec": {
			"the server would drop it",
			`{"action": "patch", "subresource": "status", "ops": [{"op": "remove", "path": "/spec/a"}]}`,
			`can change nothing but /status`},
		"a status patch of a namesake": {
			"/statuses isn't /status",
			`{"action": "patch", "subresource": "status", "ops": [{"op": "remove", "path": "/statuses"}]}`,
			`can change nothing but /status`},
		"a status patch that moves": {
			"the place it moves from stays",
			`{"action": "patch", "subresource": "status", "ops": [{"op": "move", "path": "/status/a", "from": "/spec/a"}]}`, `use copy`},
		"a creation of nothing": {"what is to be made?", `{"action": "create"}`,
			"object must be the whole manifest"},
		"a creation without a kind": {
			"it can't be sent", `{"action": "create", "object": {"apiVersion": "v1", "metadata": {"name": "x"}}}`,
			"kind is missing"},
		"a creation under a new name": {
			"each try would make another",
			`{"action": "create", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}}}`, "metadata.name is missing"},
		"a deletion of something else": {"only the judged object", `{"action": "delete", "name": "x"}`,
			`unknown key "name": delete has action alone`},
		"an eviction with a grace period": {"the Pod's own counts", `{"action": "evict", "gracePeriodSeconds": 0}`,
			`unknown key "gracePeriodSeconds": evict has action alone`},
		"a restart with a time":      {"it is now", `{"action": "restart", "at": "x"}`, `unknown key "at"`},
		"a scaling without a number": {"to what?", `{"action": "scale"}`, "replicas is <nil>"},
		"a scaling by a fraction":    {"no such thing", `{"action": "scale", "replicas": 1.5}`, "replicas is 1.5"},
		"a scaling below none":       {"no such thing", `{"action": "scale", "replicas": -1}`, "replicas is -1"},
		"a scaling beyond the API": {"replicas are 32 bits wide", `{"action": "scale", "replicas": 2147483648}`,
			"replicas is 2147483648"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wantFixError(t, tc.reason, judge(t, podPolicy(fixing(tc.element)), podRequest()), tc.want)
		})
	}
}
