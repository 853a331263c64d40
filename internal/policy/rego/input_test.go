// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// seen is the input document as a rule sees it.
func seen(tb testing.TB, r *policy.Request) map[string]any {
	tb.Helper()
	got := judge(tb, podPolicy(header+`deny contains {"msg": "x", "details": input} if true`), r)
	if got.Err != nil {
		tb.Fatal(got.Err)
	}
	return got.Violations[0].Details.(map[string]any)
}

func TestInputIsAnAdmissionRequest(t *testing.T) {
	r := podRequest()
	r.Operation = policy.Update
	r.OldObject = map[string]any{"kind": "Pod", "spec": map[string]any{"n": int64(1)}}
	r.Object = map[string]any{"kind": "Pod", "spec": map[string]any{"n": int64(2)}}
	r.UserInfo = policy.UserInfo{Username: "ann", UID: "7", Groups: []string{"b", "a"}}
	r.NamespaceObject = map[string]any{"kind": "Namespace"}
	r.DryRun = true
	got := seen(t, r)
	request := map[string]any{
		"uid": "u1", "operation": "UPDATE", "name": "web", "namespace": "team", "dryRun": true,
		"kind":      map[string]any{"group": "", "version": "v1", "kind": "Pod"},
		"resource":  map[string]any{"group": "", "version": "v1", "resource": "pods"},
		"userInfo":  map[string]any{"username": "ann", "uid": "7", "groups": []any{"b", "a"}},
		"object":    r.Object,
		"oldObject": r.OldObject,
	}
	review := map[string]any{"namespaceObject": r.NamespaceObject}
	for key, value := range request {
		review[key] = value
	}
	want := map[string]any{
		"request": request, "review": review, "object": r.Object, "pod": r.Object, "parameters": map[string]any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
}

func TestInputOfADeletion(t *testing.T) {
	r := podRequest()
	r.Operation, r.OldObject, r.Object = policy.Delete, r.Object, nil
	got := seen(t, r)
	if diff := cmp.Diff(any(r.OldObject), got["object"]); diff != "" {
		t.Errorf("input.object isn't the old object (-want +got):\n%s", diff)
	}
	if request := got["request"].(map[string]any); request["object"] != nil {
		t.Errorf("input.request.object = %v, want null", request["object"])
	}
	review := got["review"].(map[string]any)
	for _, key := range []string{"object", "oldObject"} {
		if diff := cmp.Diff(any(r.OldObject), review[key]); diff != "" {
			t.Errorf("input.review.%s isn't the old object, as Gatekeeper has it (-want +got):\n%s", key, diff)
		}
	}
}

func TestInputPod(t *testing.T) {
	deployment := policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	cases := map[string]struct {
		reason string
		change func(*policy.Request)
		want   any
	}{
		"a template without metadata": {
			"name and namespace are the workload's",
			func(r *policy.Request) { delete(template(r), "metadata") },
			map[string]any{
				"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]any{"name": "web", "namespace": "team"},
				"spec":     map[string]any{"hostPID": true},
			},
		},
		"a template with a name and another namespace": {
			"the name stands; a Pod lives where its workload lives",
			func(r *policy.Request) {
				template(r)["metadata"] = map[string]any{
					"name": "own", "namespace": "other", "labels": map[string]any{"a": "b"}}
			},
			map[string]any{
				"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]any{"name": "own", "namespace": "team", "labels": map[string]any{"a": "b"}},
				"spec":     map[string]any{"hostPID": true},
			},
		},
		"a template that isn't an object": {
			"undefined rather than wrong",
			func(r *policy.Request) { r.Object["spec"].(map[string]any)["template"] = "x" }, nil,
		},
		"another kind": {
			"it has no Pod",
			func(r *policy.Request) {
				r.Kind = policy.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Deployment"}
			}, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := workload(deployment, []string{"spec", "template"})
			tc.change(r)
			if diff := cmp.Diff(tc.want, seen(t, r)["pod"]); diff != "" {
				t.Errorf("%s: input.pod (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func template(r *policy.Request) map[string]any {
	return r.Object["spec"].(map[string]any)["template"].(map[string]any)
}

func TestInputNumbers(t *testing.T) {
	for name, number := range map[string]any{
		"an int64": int64(3), "a float64": float64(3), "an int": 3, "a json.Number": json.Number("3"),
	} {
		t.Run(name, func(t *testing.T) {
			r := podRequest()
			r.Object["spec"] = map[string]any{"n": number}
			got := judge(t, podPolicy(
				header+`deny contains sprintf("%d", [input.object.spec.n + 1]) if input.object.spec.n == 3`), r)
			if got.Err != nil || len(got.Violations) != 1 || got.Violations[0].Message != "4" {
				t.Errorf("decision = %+v, want one violation: 4", got)
			}
		})
	}
}

func TestInputRefusesARequest(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*policy.Request)
		want   string
	}{
		"without object": {"nothing to judge", func(r *policy.Request) { r.Object = nil }, "no object"},
		"without time": {"now would be the machine's", func(r *policy.Request) {
			r.Now = time.Time{}
		}, "Request.Now"},
		"with a value not of JSON": {"Rego can't read it", func(r *policy.Request) {
			r.Object["x"] = make(chan int)
		}, "the object can't be read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := podRequest()
			tc.change(r)
			if _, err := rego.NewInput(r); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want one with %q", tc.reason, err, tc.want)
			}
		})
	}
}
