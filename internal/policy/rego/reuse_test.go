// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// changes are what may differ between two requests that are alike.
func changes() []func(*policy.Request) {
	in := func(object map[string]any, path ...string) map[string]any {
		for _, key := range path {
			object, _ = object[key].(map[string]any)
		}
		return object
	}
	set := func(value any, path ...string) func(*policy.Request) {
		return func(r *policy.Request) {
			for _, object := range []map[string]any{r.Object, in(r.Object, "spec", "template")} {
				if at := in(object, path[:len(path)-1]...); at != nil {
					at[path[len(path)-1]] = value
				}
			}
		}
	}
	return []func(*policy.Request){
		set("other", "metadata", "name"), set("other", "metadata", "namespace"), set(nil, "metadata", "name"),
		func(r *policy.Request) {
			for _, object := range []map[string]any{r.Object, in(r.Object, "spec", "template")} {
				delete(in(object, "metadata"), "name")
			}
		},
		set(map[string]any{}, "metadata", "labels"), set(map[string]any{"app": "x", "b": nil}, "metadata", "labels"),
		set(map[string]any{"x": "1"}, "metadata", "annotations"), set([]any{}, "metadata", "annotations"),
		set([]any{map[string]any{"manager": "helm"}, int64(1)}, "metadata", "managedFields"),
		set(false, "spec", "hostPID"), set(nil, "spec", "hostPID"), set("yes", "spec", "hostPID"),
		set([]any{}, "spec", "containers"), set([]any{map[string]any{"image": "b:1"}}, "spec", "containers"),
		set(map[string]any{"a": map[string]any{"image": "b:1"}}, "spec", "containers"),
		set([]any{"x"}, "spec", "volumes"), set(float64(2), "spec", "replicas"), set("spec", "spec"),
		set(map[string]any{"phase": "Pending"}, "status"),
		func(r *policy.Request) { r.OldObject = nil },
		func(r *policy.Request) { r.OldObject = runtime.DeepCopyJSON(r.Object) },
		func(r *policy.Request) { r.Operation, r.OldObject = policy.Create, nil },
		func(r *policy.Request) { r.Operation, r.Object = policy.Delete, nil },
		func(r *policy.Request) { r.UID = "another" },
		func(r *policy.Request) { r.Name = "another" },
		func(r *policy.Request) { r.Namespace = "" },
		func(r *policy.Request) { r.DryRun = !r.DryRun },
		func(r *policy.Request) { r.UserInfo.Username += "x" },
		func(r *policy.Request) { r.UserInfo.Groups = append(r.UserInfo.Groups, "x") },
		func(r *policy.Request) { r.UserInfo.Extra = map[string][]string{"scopes": {"x"}} },
		func(r *policy.Request) { r.SubResource = "status" },
		func(r *policy.Request) { r.RequestSubResource = "scale" },
		func(r *policy.Request) { r.RequestKind = &policy.GroupVersionKind{Kind: "Other"} },
		func(r *policy.Request) { r.RequestResource = &policy.GroupVersionResource{Resource: "others"} },
		func(r *policy.Request) { r.Options = map[string]any{"fieldManager": "x"} },
		func(r *policy.Request) { r.Audit = !r.Audit },
		func(r *policy.Request) {
			r.NamespaceObject = map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": "1"}}}
		},
		func(r *policy.Request) { r.Now = r.Now.Add(time.Hour) },
	}
}

// alike draws requests that differ here and there.
func alike(rt *rapid.T) []*policy.Request {
	all := changes()
	deployment := rapid.Bool().Draw(rt, "deployment")
	requests := make([]*policy.Request, rapid.IntRange(2, 6).Draw(rt, "requests"))
	for i := range requests {
		r := richRequest(deployment)
		for range rapid.IntRange(0, 2).Draw(rt, "changes") {
			if r.Object != nil {
				all[rapid.IntRange(0, len(all)-1).Draw(rt, "change")](r)
			}
		}
		requests[i] = r
	}
	return requests
}

// TestWhatIsReusedIsWhatWouldBeFound asks policies with a memory and without one of the same requests.
func TestWhatIsReusedIsWhatWouldBeFound(t *testing.T) {
	policies := []*v1alpha1.ClusterRegoPolicy{}
	for _, rules := range reviewReaders() {
		policies = append(policies, ofGatekeeper(rules))
	}
	for _, rules := range append(readers(),
		`deny contains "late" if time.now_ns() > 1798761600000000000`,
		`warn contains "no label" if not input.object.metadata.labels.app`,
		`deny contains m if { input.object.metadata.labels.app != "web"; m := input.object.metadata.name }`,
		`deny contains "broken" if to_number(input.object.metadata.name) > 1`,
		`deny contains sprintf("%v", [input.object.metadata.name]) if input.object.spec.hostPID`,
		`deny contains sprintf("%v", [input.pod.metadata.name]) if input.pod.spec.hostPID == "yes"`,
		`deny contains sprintf("%v", [input.request.name]) if input.object.spec.replicas == 3`,
		`violation contains {"msg": m, "details": {"n": [input.object.metadata.labels]}} if { `+
			`input.object.spec.hostPID == "yes"; m := sprintf("%v %v", [input.object.metadata.name, "x"]) }`,
		`deny contains m if { n := input.object.metadata.name; m := sprintf("%v", [n]); input.object.spec.hostPID; `+
			`count(m) > 3 }`,
		`deny contains m if { some c in input.object.spec.containers; not c.image; m := sprintf("%v", [c.name]) }`,
		`warn contains "there" if input.pod`,
		"images contains c if some c in input.pod.spec.containers\n"+
			`deny contains "x" if { all := [c.image | some c in images]; all[0] == "b:1" }`,
		"images contains c if some c in input.object.spec.template.spec.containers\n"+
			"images contains c if some c in input.object.spec.containers\n"+
			`deny contains "x" if { all := [1 | images[_].image]; count(all) == 1 }`,
	) {
		policies = append(policies, podPolicy(header+rules))
	}
	for _, p := range policies {
		anew := compile(t, p).On(rego.CompiledEngine)
		t.Run("", func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				reusing := anew.Reusing()
				for _, r := range alike(rt) {
					part, err := rego.NewInputOf(r, rego.ReadBy(r.Kind.GroupKind(), anew))
					if err != nil {
						rt.Skip(err)
					}
					want := anew.Evaluate(t.Context(), part, time.Minute)
					got := reusing.Evaluate(t.Context(), part, time.Minute)
					if diff := cmp.Diff(want, got, cmp.Comparer(sameError),
						cmpopts.IgnoreFields(policy.Decision{}, "Reused")); diff != "" {
						rt.Fatalf("%s\nof %v (-evaluated +with a memory):\n%s", p.Spec.Rego.Main, r, diff)
					}
				}
			})
		})
	}
}

func TestWhatIsReused(t *testing.T) {
	const images = `deny contains c.image if { some c in input.pod.spec.containers; endswith(c.image, ":never") }`
	named := func(name string) *policy.Request {
		r := richRequest(false)
		r.Object["metadata"].(map[string]any)["name"], r.Name, r.UID = name, name, name
		return r
	}
	for _, test := range []struct {
		about, rules string
		second       func(*policy.Request)
		reused       bool
	}{
		{about: "a Pod of another name, which nobody reads", rules: images, reused: true},
		{about: "another field that nobody reads", rules: images, reused: true,
			second: func(r *policy.Request) { r.Object["spec"].(map[string]any)["hostPID"] = false }},
		{about: "another image", rules: images, second: func(r *policy.Request) {
			r.Object["spec"].(map[string]any)["containers"] = []any{map[string]any{"image": "other"}}
		}},
		{about: "another kind", rules: images, second: func(r *policy.Request) { r.Kind.Version = "v2" }},
		{about: "a name that is read",
			rules: `deny contains "bad" if input.object.metadata.name == "bad"`},
		{about: "a rule that asks for the time",
			rules: `deny contains "late" if { time.now_ns() < 0; input.object.metadata.labels.app }`},
		{about: "a violation is found each time", rules: `deny contains "always" if true`},
		{about: "a warning, too", rules: `warn contains "always" if true`},
		{about: "what could not be judged", rules: `deny contains "x" if to_number(input.object.kind) > 1`},
	} {
		t.Run(test.about, func(t *testing.T) {
			c := compile(t, podPolicy(header+test.rules)).On(rego.CompiledEngine).Reusing()
			first, second := named("one"), named("two")
			if test.second != nil {
				test.second(second)
			}
			if c.Evaluate(t.Context(), input(t, first), time.Minute).Reused {
				t.Error("the verdict on the first was known already")
			}
			if got := c.Evaluate(t.Context(), input(t, second), time.Minute).Reused; got != test.reused {
				t.Errorf("the verdict on the first was reused for the second: %v, want %v", got, test.reused)
			}
		})
	}
}

// Of other parameters nothing is known.
func TestNothingIsReusedOfAnotherDefinition(t *testing.T) {
	p := podPolicy(header + `deny contains "bad" if input.object.metadata.labels.app == input.parameters.app`)
	p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(`{"app": "none"}`)}
	c := compile(t, p).On(rego.CompiledEngine).Reusing()
	if d := c.Evaluate(t.Context(), input(t, richRequest(false)), time.Minute); len(d.Violations) > 0 {
		t.Fatalf("it finds %v", d.Violations)
	}
	changed := p.DeepCopy()
	changed.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(`{"app": "web"}`)}
	redefined, err := c.Redefine(changed)
	if err != nil {
		t.Fatal(err)
	}
	if d := redefined.Evaluate(t.Context(), input(t, richRequest(false)), time.Minute); len(d.Violations) != 1 {
		t.Errorf("with other parameters it finds %v, want one violation", d.Violations)
	}
}
