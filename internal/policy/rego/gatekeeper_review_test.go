// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// reviewReaders are rules of Gatekeeper's that read this and that of a review.
func reviewReaders() []string {
	return []string{
		`violation[{"msg": "x"}] { input.review.operation == "CREATE" }`,
		`violation[{"msg": "x"}] { not input.review.userInfo.extra.scopes }`,
		`violation[{"msg": "x"}] { input.review.userInfo.extra.scopes[_] == "x" }`,
		`violation[{"msg": "x"}] { not input.review.userInfo.username }`,
		`violation[{"msg": "x"}] { not input.review.dryRun == false }`,
		`violation[{"msg": "x"}] { input.review.options == null }`,
		`violation[{"msg": "x"}] { input.review.options.fieldManager == "x" }`,
		`violation[{"msg": "x"}] { input.review.requestKind.kind != "Other" }`,
		`violation[{"msg": "x"}] { not input.review.requestSubResource }`,
		`violation[{"msg": "x"}] { input.review.requestResource.resource == "others" }`,
		`violation[{"msg": "x"}] { input.review.resource.resource == "" }`,
		`violation[{"msg": "x"}] { not input.review.uid == "" }`,
		`violation[{"msg": "x", "details": input.review}] { count(input.review) > 12 }`,
		`violation[{"msg": "x"}] { walk(input.review, [_, "x"]) }`,
	}
}

// reviewOf is input.review as a rule of Gatekeeper's sees it.
func reviewOf(tb testing.TB, r *policy.Request) any {
	tb.Helper()
	got := judge(tb, ofGatekeeper(`violation[{"msg": "x", "details": input.review}]`), r)
	if got.Err != nil {
		tb.Fatal(got.Err)
	}
	return got.Violations[0].Details
}

type object = map[string]any

// TestAReviewIsGatekeepers holds input.review against what Gatekeeper's engine shows (hack/bench/gator/engine).
func TestAReviewIsGatekeepers(t *testing.T) {
	pod := podRequest().Object
	kind := object{"group": "", "version": "v1", "kind": "Pod"}
	resource := object{"group": "", "version": "v1", "resource": "pods"}
	for name, tc := range map[string]struct {
		reason string
		change func(*policy.Request)
		want   object
	}{
		"the audit": {"nobody asks for anything", func(r *policy.Request) {
			*r = *policy.NewAudit(pod, object{"kind": "Namespace"}, time.Unix(1, 0))
			r.Resource = "pods"
		}, object{"uid": "", "operation": "", "name": "web", "namespace": "team", "kind": kind, "object": pod,
			"resource": object{"group": "", "version": "", "resource": ""}, "userInfo": object{}, "oldObject": nil,
			"options": nil, "namespaceObject": object{"kind": "Namespace"}}},
		"a request": {"it is as the API server sends it", func(r *policy.Request) {
			r.Operation, r.OldObject = policy.Update, object{"kind": "Pod"}
			r.RequestKind = &policy.GroupVersionKind{Version: "v2", Kind: "Pod"}
			r.RequestResource = &policy.GroupVersionResource{Version: "v2", Resource: "pods"}
			r.SubResource, r.RequestSubResource = "resize", "resize"
			r.Options = object{"kind": "UpdateOptions"}
			r.UserInfo = policy.UserInfo{Username: "ann", UID: "7", Groups: []string{"b", "a"},
				Extra: map[string][]string{"scopes": {"x", "y"}}}
		}, object{"uid": "u1", "operation": "UPDATE", "name": "web", "namespace": "team", "kind": kind, "object": pod,
			"resource": resource, "subResource": "resize", "requestSubResource": "resize", "dryRun": false,
			"requestKind":     object{"group": "", "version": "v2", "kind": "Pod"},
			"requestResource": object{"group": "", "version": "v2", "resource": "pods"},
			"oldObject":       object{"kind": "Pod"}, "options": object{"kind": "UpdateOptions"},
			"userInfo": object{"username": "ann", "uid": "7", "groups": []any{"b", "a"},
				"extra": object{"scopes": []any{"x", "y"}}}, "namespaceObject": object{}}},
		"a deletion": {"object is what is deleted", func(r *policy.Request) {
			r.Operation, r.Object, r.OldObject, r.DryRun = policy.Delete, nil, pod, true
		}, object{"uid": "u1", "operation": "DELETE", "name": "web", "namespace": "team", "kind": kind, "object": pod,
			"resource": resource, "dryRun": true, "oldObject": pod, "options": nil, "userInfo": object{},
			"namespaceObject": object{}}},
		"a Namespace": {"it lives in none, though the API server names it", func(r *policy.Request) {
			r.Kind.Kind, r.Resource, r.Namespace, r.Name = "Namespace", "namespaces", "team", "team"
			r.NamespaceObject = object{"kind": "Namespace"}
		}, object{"uid": "u1", "operation": "CREATE", "name": "team", "object": pod, "oldObject": nil,
			"kind":     object{"group": "", "version": "v1", "kind": "Namespace"},
			"resource": object{"group": "", "version": "v1", "resource": "namespaces"}, "dryRun": false,
			"options": nil, "userInfo": object{}, "namespaceObject": object{}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := podRequest()
			tc.change(r)
			if diff := cmp.Diff(any(tc.want), reviewOf(t, r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOnlyRulesOfGatekeepersAreShownItsReview has policies of both sorts judge one audit by one input: in those of
// Evenkeel's own it is a CREATE.
func TestOnlyRulesOfGatekeepersAreShownItsReview(t *testing.T) {
	const rule = `violation[{"msg": input.review.operation}] { input.review.kind.kind == "Pod" }`
	theirs, own := ofGatekeeper(rule), ofGatekeeper(rule)
	own.Spec.Rego.StrictBuiltinErrors = nil
	c := compile(t, theirs)
	redefined, err := c.Redefine(own) // which shares all that is compiled
	if err != nil {
		t.Fatal(err)
	}
	r := policy.NewAudit(podRequest().Object, nil, time.Unix(1, 0))
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		by := []*rego.Compiled{c.On(engine), redefined.On(engine)}
		in := input(t, r)
		for i, want := range []string{`the rule gave no message but {"msg": ""}`, "CREATE"} {
			got := by[i].Evaluate(t.Context(), in, time.Minute)
			if diff := cmp.Diff([]policy.Violation{{Message: want}}, got.Violations); diff != "" || got.Err != nil {
				t.Errorf("%s, error %v (-want +got):\n%s", engine, got.Err, diff)
			}
		}
	}
}
