// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// hostPID judges input.pod and fixes it, with paths into the Pod.
const hostPID = header + `
deny contains {"msg": sprintf("%s/%s", [input.pod.metadata.namespace, input.pod.metadata.name]), "path": "/spec/hostPID"} if input.pod.spec.hostPID

remediation contains {"action": "patch", "ops": [
	{"op": "test", "path": "/spec/hostPID", "value": true},
	{"op": "move", "path": "/metadata/annotations", "from": "/spec/hostPID"},
]} if input.pod.spec.hostPID
`

// workload is an object of a kind whose pod template stands at the path.
func workload(kind policy.GroupVersionKind, templatePath []string) *policy.Request {
	var node any = map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"hostPID": true},
	}
	if len(templatePath) == 0 {
		node = map[string]any{"spec": map[string]any{"hostPID": true}}
	}
	for i := len(templatePath) - 1; i >= 0; i-- {
		node = map[string]any{templatePath[i]: node}
	}
	object := node.(map[string]any)
	object["apiVersion"], object["kind"] = kind.APIVersion(), kind.Kind
	object["metadata"] = map[string]any{"name": "web", "namespace": "team"}
	r := podRequest()
	r.Kind, r.Object = kind, object
	return r
}

func TestPathsAreMovedOntoTheObject(t *testing.T) {
	template := []string{"spec", "template"}
	cases := map[string]struct {
		kind     policy.GroupVersionKind
		template []string
		want     string
	}{
		"a Pod": {policy.GroupVersionKind{Version: "v1", Kind: "Pod"}, nil, ""},
		"a ReplicationController": {policy.GroupVersionKind{Version: "v1", Kind: "ReplicationController"}, template,
			"/spec/template"},
		"a Deployment": {policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, template,
			"/spec/template"},
		"a StatefulSet": {policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"},
			template, "/spec/template"},
		"a DaemonSet": {policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}, template,
			"/spec/template"},
		"a ReplicaSet": {policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, template,
			"/spec/template"},
		"a Job": {policy.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, template,
			"/spec/template"},
		"a CronJob": {
			policy.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"},
			[]string{"spec", "jobTemplate", "spec", "template"}, "/spec/jobTemplate/spec/template",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := judge(t, podPolicy(hostPID), workload(tc.kind, tc.template))
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			wantViolations := []policy.Violation{{Message: "team/web", Path: tc.want + "/spec/hostPID"}}
			if diff := cmp.Diff(wantViolations, got.Violations); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			wantActions := []policy.Action{{Type: policy.ActionPatch, Ops: []policy.PatchOp{
				{Op: "test", Path: tc.want + "/spec/hostPID", Value: true, HasValue: true},
				{Op: "move", Path: tc.want + "/metadata/annotations", From: tc.want + "/spec/hostPID"},
			}}}
			if diff := cmp.Diff(wantActions, got.Actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPathsOfANamedKindAreItsOwn(t *testing.T) {
	p := podPolicy(
		header + `deny contains {"msg": "x", "path": "/spec/template/spec/hostPID"} if input.pod.spec.hostPID`)
	p.Spec.Match.Kinds = append(p.Spec.Match.Kinds,
		v1alpha1.KindMatch{APIGroups: []string{"apps"}, Kinds: []string{"Deployment"}})
	r := workload(policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		[]string{"spec", "template"})
	want := []policy.Violation{{Message: "x", Path: "/spec/template/spec/hostPID"}}
	if diff := cmp.Diff(want, judge(t, p, r).Violations); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func TestPathsThatATemplateLacks(t *testing.T) {
	deployment := workload(policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		[]string{"spec", "template"})
	for _, path := range []string{"/metadata/name", "/metadata/namespace", "/apiVersion", "/kind", "/status",
		"/status/phase"} {
		t.Run(path, func(t *testing.T) {
			element := `{"action": "patch", "ops": [{"op": "remove", "path": "PATH"}]}`
			source := header + `deny contains "x" if true` + "\n\nremediation contains " +
				strings.Replace(element, "PATH", path, 1) + " if true"
			wantFixError(t, "the template has no such field", judge(t, podPolicy(source), deployment), `"`+path+`"`,
				"apps/Deployment")
			if got := judge(t, podPolicy(source), podRequest()); got.FixErr != nil {
				t.Errorf("on a Pod: %v", got.FixErr)
			}
			source = header + `deny contains {"msg": "x", "path": "` + path + `"} if true`
			wantError(t, "the template has no such field", judge(t, podPolicy(source), deployment), `"`+path+`"`)
		})
	}
}
