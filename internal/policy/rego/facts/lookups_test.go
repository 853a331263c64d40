// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

func TestLookupsOf(t *testing.T) {
	const service = `data.inventory.namespace[ns].v1.Service[name]`
	all := []string(nil)
	cases := map[string]struct {
		reason string
		rego   string
		fields []string
		whole  bool
	}{
		"nothing": {"the object alone", `deny contains "x" if input.object.a`, nil, false},
		"one field": {"as it is written",
			`deny contains "x" if data.inventory.namespace[_].v1.Service[_].spec.type == "NodePort"`, []string{"spec.type"}, false},
		"by another name": {"the object has a name of its own",
			`deny contains "x" if { some ns, name; s := ` + service + `; s.spec.type == "a"; s.metadata.labels.app }`,
			[]string{"metadata.labels.app", "spec.type"}, false},
		"a key that is computed": {"the field above is read whole",
			`deny contains "x" if { some ns, name; s := ` + service + `; s.spec.selector[input.object.key] }`,
			[]string{"spec.selector"}, false},
		"elements of a list": {"a list is read whole",
			`deny contains "x" if { some ns, name; ` + service + `.spec.ports[_].port == 80 }`, []string{"spec.ports"}, false},
		"a key with a dot": {"it can't be written as a field's name",
			`deny contains "x" if { some ns, name; ` + service + `.metadata.annotations["a.b/c"] }`,
			[]string{"metadata.annotations"}, false},
		"the object": {"it is compared as a whole", `deny contains "x" if { some ns, name; ` + service + ` == input.object }`,
			all, true},
		"that there is one": {"an object is, or isn't there: what it holds isn't read",
			`deny contains "x" if { some ns, name; s := ` + service + `; s.metadata.name == "a" }`, []string{"metadata.name"}, false},
		"by a function": {"what it is given is followed",
			`f(s) := s.spec.clusterIP` + "\n" + `deny contains "x" if { some ns, name; f(` + service + `) == "None" }`,
			[]string{"spec.clusterIP"}, false},
		"another kind": {"of Services nothing", `deny contains "x" if data.inventory.namespace[_].v1.Pod[_].spec.a`, nil, false},
		"another group": {"of core Services nothing",
			`deny contains "x" if data.inventory.namespace[_]["x.example/v1"].Service[_].spec.a`, nil, false},
		"any kind": {"Services may be meant",
			`deny contains "x" if { some kind; data.inventory.namespace[_].v1[kind][_].spec.a }`, []string{"spec.a"}, false},
		"any version": {"theirs may be meant",
			`deny contains "x" if { some v; data.inventory.namespace[_][v].Service[_].spec.a; startswith(v, "v") }`,
			[]string{"spec.a"}, false},
		"all of them": {"nothing tells", `deny contains "x" if count(data.inventory.namespace) > 1`, all, true},
		"by an import": {"the same by another name",
			"import data.inventory\n" + `deny contains "x" if inventory.namespace[_].v1.Service[_].spec.a`, []string{"spec.a"}, false},
		"by any data": {"the place is computed", `deny contains "x" if { some k; data[k].namespace }`, all, true},
		"walked":      {"walk reads all", `deny contains "x" if { walk(data.inventory, [_, "a"]) }`, all, true},
		"instead": {"what stands in place isn't the cluster's",
			`deny contains "x" if { g with data.inventory as {} }` + "\n" + `g if data.inventory.namespace.a.v1.Service.b.spec.c`,
			all, true},
		"by object.get": {"its keys are the field's",
			`deny contains "x" if { some ns, name; object.get(` + service + `, ["spec", "type"], "") == "NodePort" }`,
			[]string{"spec.type"}, false},
		"by object.get from far above": {"its keys lead to the object, and into it",
			`deny contains "x" if object.get(data.inventory.namespace, ["a", "v1", "Service", "b", "spec"], {}) == {}`,
			[]string{"spec"}, false},
		"by object.get of another kind": {"of Services nothing",
			`deny contains "x" if object.get(data.inventory.namespace.a.v1, ["Pod", "b", "spec"], {}) == {}`, nil, false},
		"by object.get of keys that aren't known": {"they may be any",
			`deny contains "x" if { some keys in [["a"]]; object.get(data.inventory, keys, {}) == {} }`, all, true},
		"in a comprehension": {"it is followed into it",
			`deny contains "x" if { ns := "a"; count([s | s := data.inventory.namespace[ns].v1.Service[_].spec.type]) > 1 }`,
			[]string{"spec.type"}, false},
		"of the cluster": {"a kind isn't known to live in namespaces",
			`deny contains "x" if data.inventory.cluster.v1.Service[_].spec.b`, []string{"spec.b"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := lookups(t, tc.rego)
			fields, whole := l.Fields("", "Service")
			if diff := cmp.Diff(tc.fields, fields); diff != "" || whole != tc.whole {
				t.Errorf("whole %t, -want +got:\n%s%s", whole, diff, tc.reason)
			}
		})
	}
}

// lookups are those of some rules of package a.
func lookups(t *testing.T, rules string) facts.Lookups {
	t.Helper()
	sources := []v1alpha1.RegoLibrary{{Name: "a.rego", Source: "package a\n" + rules}}
	modules, err := compile.Parse(sources, v1alpha1.RegoV1)
	if err != nil {
		t.Fatal(err)
	}
	built, err := compile.Modules(v1alpha1.RegoV1, sources, modules)
	if err != nil {
		t.Fatal(err)
	}
	return facts.LookupsOf(built.Compiler, "inventory", ast.MustParseRef("data.a.deny"))
}

func TestVersionsThatAreLookedUp(t *testing.T) {
	cases := map[string]struct {
		reason string
		rego   string
		want   []string
	}{
		"by name": {"as it is written", `deny contains "x" if data.inventory.namespace.a["apps/v1"].Deployment.b`,
			[]string{"v1"}},
		"several": {"each once", `deny contains "x" if {
	data.inventory.namespace[_]["apps/v2"].Deployment.b
	data.inventory.namespace[_]["apps/v1"].Deployment.b
	data.inventory.namespace[_]["apps/v1"].Deployment.c
}`, []string{"v1", "v2"}},
		"of the cluster": {"a kind isn't known to live in namespaces",
			`deny contains "x" if data.inventory.cluster["apps/v1"].Deployment.b`, []string{"v1"}},
		"computed": {"it isn't known before", `deny contains "x" if data.inventory.namespace.a[input.v].Deployment.b`, nil},
		"another kind": {"of Deployments none", `deny contains "x" if data.inventory.namespace.a["apps/v2"].DaemonSet.b`,
			nil},
		"another group": {"of apps none", `deny contains "x" if data.inventory.namespace.a["extensions/v1"].Deployment.b`,
			nil},
		"all kinds of a version": {"Deployments are among them",
			`deny contains "x" if { some kind; data.inventory.namespace.a["apps/v1"][kind].b }`, []string{"v1"}},
		"under a place that is computed": {"a key may be a version or a namespace",
			`deny contains "x" if { some place; data.inventory[place]["apps/v1"]["apps/v2"].Deployment }`, nil},
		"all objects": {"no version is named", `deny contains "x" if data.inventory == {}`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lookups(t, tc.rego).Versions("apps", "Deployment")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
