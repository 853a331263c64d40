// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// richRequest has a Pod, or a Deployment of it, in an update that changes it here and there.
func richRequest(deployment bool) *policy.Request {
	pod := func(image string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web", "tier": "front"}},
			"spec": map[string]any{
				"hostPID": true,
				"containers": []any{
					map[string]any{"name": "a", "image": image,
						"ports": []any{map[string]any{"containerPort": int64(80)}}},
					map[string]any{"name": "b", "image": "b:1",
						"env": []any{map[string]any{"name": "X", "value": "1"}}},
					"no object",
				},
				"volumes": map[string]any{"no": "list"},
			},
		}
	}
	object := func(image string) map[string]any {
		object := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": pod(image)["spec"]}
		if deployment {
			object = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
				"spec": map[string]any{"replicas": int64(2), "template": pod(image)}}
		}
		object["metadata"] = map[string]any{"name": "web", "namespace": "team", "labels": map[string]any{"app": "web"},
			"annotations": nil, "managedFields": []any{map[string]any{"manager": "kubectl"}}}
		object["status"] = map[string]any{"phase": "Running"}
		return object
	}
	r := podRequest()
	if deployment {
		r.Kind = policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	}
	r.Operation, r.Object, r.OldObject = policy.Update, object("a:latest"), object("a:1")
	return r
}

// readers are rules that read this and that of an input, each in its way.
func readers() []string {
	return []string{
		`deny contains c.image if some c in input.object.spec.containers`,
		`deny contains c.image if some c in input.pod.spec.containers`,
		`deny contains input.pod.metadata.name if input.pod.spec.hostPID`,
		`deny contains k if some k, _ in input.review.object.metadata.labels`,
		`deny contains json.marshal(input.review.object) if true`,
		`deny contains sprintf("%d", [count(input.object.spec.containers)]) if true`,
		`deny contains sprintf("%d", [p]) if { some p; input.object.spec.containers[p].image == "b:1" }`,
		`deny contains "there" if { some x; input.object.spec = x; is_string("y") }`,
		`deny contains "there" if { some x; input.object.gone = x; is_string("y") }`,
		`deny contains "element" if { _ = input.object.spec.containers[1]; is_string("y") }`,
		`deny contains "asked" if constantly(input.object.metadata.labels.app)` + "\n" + `constantly(_) := true`,
		`deny contains "asked" if constantly(input.object.metadata.labels.gone)` + "\n" + `constantly(_) := true`,
		`deny contains "changed" if input.review.object.spec != input.review.oldObject.spec`,
		`deny contains "new" if { some i; input.request.object.spec.containers[i].image != input.request.oldObject.spec.containers[i].image }`,
		`deny contains "no annotations" if not input.object.metadata.annotations`,
		`deny contains "null" if input.object.metadata.annotations == null`,
		`deny contains "none" if not input.object.metadata.annotations.x`,
		`deny contains f if some f in object.keys(input.object.spec)`,
		`deny contains f if { some key in ["spec", "status"]; some f, _ in input.object[key] }`,
		`deny contains v if { walk(input.object, [path, v]); path == ["status", "phase"] }`,
		`deny contains "by with" if { with_env with input.object as {"a": 1} }` + "\n" + `with_env if input.object.a == 1`,
		`deny contains m if { some c in all_containers; m := c.name }` + "\n" +
			`all_containers contains c if some c in input.pod.spec.containers`,
		`deny contains m if { m := image_of(input.pod.spec.containers[_]) }` + "\n" + `image_of(c) := c.image`,
		`deny contains "list" if not input.object.spec.volumes[0]`,
		`deny contains "same" if every l in [{"app": "web"}] { l == input.object.metadata.labels }`,
		`deny contains "same" if every k, _ in {{"app": "web"}: 1} { k == input.object.metadata.labels }`,
		`deny contains "same" if { every l in [{"app": "web"}] { l == input.object.metadata.labels }; ` +
			`input.object.metadata.labels.app }`,
		`deny contains "same" if same([{"app": "web"}])` + "\n" + `same([l]) if l == input.object.metadata.labels`,
		`deny contains "same" if { same([{"app": "web"}]); input.object.metadata.labels.app }` + "\n" +
			`same([l]) if l == input.object.metadata.labels`,
		`deny contains "same" if same(input.object.metadata.labels, {"app": "web"})` + "\n" + `same(x, x) := true`,
		`deny contains "same" if same(input.object.metadata.labels, input.object.spec)` + "\n" + `same(x, x) := true`,
		`deny contains "same" if same(input.object.metadata.labels, [{"app": "web"}])` + "\n" + `same(x, [x]) := true`,
		`deny contains "same" if same([{"app": "web"}])` + "\n" + `same([l]) := false if l == 3` + "\n" +
			`else := true if l == input.object.metadata.labels`,
		`deny contains "x" if { l := input.object.metadata.labels; g(1) == l }` + "\n" + `g(_) := {"app": "web"}`,
		`deny contains x if { a = b; b = c; c = input.object.metadata; x = a.labels.app }`,
		`deny contains "every" if every c in input.pod.spec.containers { c.image }`,
		`deny contains x if { {"metadata": {"labels": {"app": x}}} = object.filter(input.object, ["metadata"]) }`,
		`deny contains x if { x := input.object.metadata.managedFields[_].manager }`,
		`deny contains {"msg": "d", "details": input} if true`,
		`deny contains m if { m := sprintf("%d", [count(input)]) }`,
		`deny contains k if some k in object.keys(input)`,
		`deny contains k if some k, _ in input`,
		`deny contains k if input[k].kind.kind == "Pod"`,
		`deny contains m if { some d in ["request", "review"]; m := concat(" ", [d, input[d].userInfo.username]) }`,
		`deny contains m if { m := concat(" ", ["by", input.review.userInfo.username]); input.request.operation == "UPDATE" }`,
		`deny contains m if { m := input.request.namespace; not input.review.namespaceObject.metadata.labels.x }`,
		`deny contains "same" if input.request.object == input.review.object`,
		`deny contains "no old" if not input.review.oldObject.spec`,
		`deny contains "operation" if input.request`,
		`deny contains "operation" if "operation" in object.keys(input.review)`,
		`deny contains p if { walk(input, [path, v]); v == "UPDATE"; p := concat("/", path) }`,
		`deny contains "pod" if input.pod`,
		`deny contains "by with" if who == "UPDATE" with input.request.userInfo as {}` + "\n" + `who := input.request.operation`,
		`deny contains m if { r := input.review; m := f(r) }` + "\n" + `f(x) := x.resource.resource`,
		`deny contains m if { m := object.get(input, ["review", "name"], "none") }`,
		`deny contains m if { m := object.get(input.object, ["metadata", "labels", "app"], "none") }`,
		`deny contains "none" if object.get(input.object.metadata, "gone", "none") == "none"`,
		`deny contains "all" if object.get(input.object, [], "none") == input.review.object`,
		`deny contains "list" if object.get(input.object.spec, ["containers", 1, "image"], "none") == "b:1"`,
		`deny contains "no list" if object.get(input.object.spec, ["containers", "1"], "none") == "none"`,
		`deny contains "no object" if object.get(input.object.kind, "a", "none") == "none"`,
		`deny contains "undefined" if object.get(input.object.gone, "a", "none") == "none"`,
		`deny contains json.marshal(k) if { some k in ["labels", "name", ["labels", "app"], []]; object.get(input.object.metadata, k, "none") != "none" }`,
		`deny contains v if { some k in ["app", "tier"]; v := object.get(input.pod, ["metadata", "labels", k], "none") }`,
		`deny contains v if { v := object.get(input.object.metadata, "gone", input.review.oldObject.metadata.name) }`,
		`deny contains v if { v := of(input.object) }` + "\n" + `of(o) := object.get(o, ["metadata", "name"], "none")`,
		`deny contains "there" if object.get(input.object, "status", false)`,
		`deny contains "not there" if not object.get(input.object, "gone", false)`,
		`deny contains "empty" if object.get(input, ["object", "spec", "none"], {}) == {}`,
	}
}

// TestRulesThatReadThisAndThatFindTheSame has both engines evaluate them for a Pod and a Deployment.
func TestRulesThatReadThisAndThatFindTheSame(t *testing.T) {
	found := 0
	var policies []*v1alpha1.ClusterRegoPolicy
	for _, rules := range readers() {
		policies = append(policies, podPolicy(header+rules))
	}
	for _, rules := range reviewReaders() {
		policies = append(policies, ofGatekeeper(rules))
	}
	for _, p := range policies {
		c := compile(t, p)
		for _, deployment := range []bool{false, true} {
			found += len(evaluate(t, c, input(t, richRequest(deployment)), time.Minute).Violations)
		}
	}
	if found == 0 {
		t.Error("nothing is found: that proves nothing")
	}
}

func TestAValueThatIsNoJSONIsAnError(t *testing.T) {
	r := podRequest()
	r.Object["spec"] = map[string]any{"containers": []any{map[string]any{"image": func() {}}}}
	if _, err := rego.NewInput(r); err == nil ||
		!strings.Contains(err.Error(), "the object can't be read: it isn't a JSON value") {
		t.Errorf("error %v", err)
	}
}
