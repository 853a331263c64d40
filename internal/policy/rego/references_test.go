// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

const uniqueHosts = `package hosts

deny contains msg if {
	some ns, name
	other := data.inventory.namespace[ns]["networking.k8s.io/v1"].Ingress[name]
	not same(other)
	some host in other.spec.rules[_].host
	host == input.object.spec.rules[_].host
	msg := sprintf("%s/%s has the host %s already", [ns, name, host])
}

same(other) if {
	other.metadata.namespace == input.object.metadata.namespace
	other.metadata.name == input.object.metadata.name
}
`

func ingress(namespace, name string, hosts ...string) *unstructured.Unstructured {
	var rules []any
	for _, host := range hosts {
		rules = append(rules, map[string]any{"host": host})
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		"metadata": map[string]any{"namespace": namespace, "name": name,
			"annotations":   map[string]any{"a": "b"},
			"managedFields": []any{map[string]any{"manager": "x"}}},
		"spec": map[string]any{"rules": rules, "ingressClassName": "a"}}}
}

func hostsPolicy(references ...v1alpha1.ReferencedKind) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name = "hosts"
	p.Spec.Rego.Main = strings.Replace(uniqueHosts, "some host in other.spec.rules[_].host",
		"host := other.spec.rules[_].host", 1)
	p.Spec.Match = v1alpha1.Match{References: references, Resources: []v1alpha1.ResourceMatch{{
		APIGroups: []string{"networking.k8s.io"}, Kinds: []string{"Ingress"}}}}
	return p
}

var theIngresses = v1alpha1.ReferencedKind{APIGroup: "networking.k8s.io", Kind: "Ingress"}

func table(t *testing.T, r inventory.Reference, objects ...*unstructured.Unstructured) *inventory.Table {
	t.Helper()
	held := inventory.NewTable(r, "networking.k8s.io/v1")
	for _, object := range objects {
		item, err := held.Compact(object)
		if err != nil {
			t.Fatal(err)
		}
		held.Put(item)
	}
	return held
}

func TestRulesLookOtherObjectsUp(t *testing.T) {
	compiled, err := Compile(hostsPolicy(theIngresses))
	if err != nil {
		t.Fatal(err)
	}
	held := table(t, compiled.References()[0], ingress("shop", "web", "a.example"), ingress("pay", "web", "b.example"))
	joined := inventory.Join(held)
	judge := func(object *unstructured.Unstructured, view *inventory.View) map[Engine]string {
		in, err := NewInput(policy.NewAudit(object.Object, nil, time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		got := map[Engine]string{}
		for _, engine := range []Engine{Topdown, CompiledEngine} {
			d := compiled.On(engine).Evaluate(t.Context(), in.Over(view), time.Minute)
			if d.Err != nil || d.Engine != engine {
				t.Fatalf("%s: by %s: %v", engine, d.Engine, d.Err)
			}
			for _, v := range d.Violations {
				got[engine] += v.Message + "\n"
			}
		}
		return got
	}
	holds := func(what string, object *unstructured.Unstructured, view *inventory.View, want string) {
		t.Helper()
		for engine, got := range judge(object, view) {
			if got != want {
				t.Errorf("%s: %s says %q, want %q", what, engine, got, want)
			}
		}
	}
	holds("another host", ingress("shop", "new", "c.example"), joined.View(), "")
	holds("the object itself", ingress("shop", "web", "a.example"), joined.View(), "")
	holds("another's host", ingress("shop", "new", "b.example"), joined.View(),
		"pay/web has the host b.example already\n")
	before := joined.View()
	if before != joined.View() {
		t.Error("the view is made again though nothing has changed")
	}
	held.Delete("pay", "web")
	holds("a host that is free by now", ingress("shop", "new", "b.example"), joined.View(), "")
	holds("as it was before", ingress("shop", "new", "b.example"), before, "pay/web has the host b.example already\n")
	with, err := joined.With([]map[string]any{ingress("x", "y", "b.example").Object}, nil)
	if err != nil {
		t.Fatal(err)
	}
	holds("with an object that isn't written", ingress("shop", "new", "b.example"), with,
		"x/y has the host b.example already\n")
	without, err := joined.With(nil, []map[string]any{ingress("shop", "web", "a.example").Object})
	if err != nil {
		t.Fatal(err)
	}
	holds("without one that is there", ingress("shop", "new", "a.example"), without, "")
	holds("which isn't kept", ingress("shop", "new", "b.example"), joined.View(), "")
}

func TestOnlyWhatRulesReadIsKept(t *testing.T) {
	compiled, err := Compile(hostsPolicy(theIngresses))
	if err != nil {
		t.Fatal(err)
	}
	held := table(t, compiled.References()[0], ingress("shop", "web", "a.example"))
	got := inventory.Join(held).View().Data.String()
	want := `{"inventory": {"cluster": {}, "namespace": {"shop": {"networking.k8s.io/v1": {"Ingress": {"web": ` +
		`{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web", "namespace": "shop"}, ` +
		`"spec": {"rules": [{"host": "a.example"}]}}}}}}}}`
	if got != want {
		t.Errorf("it keeps\n%s\nwant\n%s", got, want)
	}
	for name, fields := range map[string][]string{"named": {"spec.ingressClassName"},
		"under another": {"spec", "spec.rules"}} {
		named := theIngresses
		named.Fields = fields
		if compiled, err = Compile(hostsPolicy(named)); err != nil {
			t.Fatal(err)
		}
		object := ingress("shop", "web", "a.example")
		held = table(t, compiled.References()[0], object)
		if text := inventory.Join(held).View().Data.String(); !strings.Contains(text, "ingressClassName") ||
			strings.Contains(text, "annotations") {
			t.Errorf("%s: it keeps %s", name, text)
		}
	}
}

// TestNoVerdictIsReusedOfRulesThatLookOthersUp: what they look up may be another by now.
func TestNoVerdictIsReusedOfRulesThatLookOthersUp(t *testing.T) {
	compiled, err := Compile(hostsPolicy(theIngresses))
	if err != nil {
		t.Fatal(err)
	}
	reusing := compiled.On(CompiledEngine).Reusing()
	held := table(t, compiled.References()[0])
	in, err := NewInput(policy.NewAudit(ingress("shop", "web", "a.example").Object, nil, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []bool{false, true} {
		if other {
			item, err := held.Compact(ingress("pay", "web", "a.example"))
			if err != nil {
				t.Fatal(err)
			}
			held.Put(item)
		}
		d := reusing.Evaluate(t.Context(), in.Over(inventory.Join(held).View()), time.Minute)
		if d.Err != nil || d.Reused || len(d.Violations) > 0 != other {
			t.Errorf("another with the host %v: %v, reused %v, %v", other, d.Violations, d.Reused, d.Err)
		}
	}
}

func TestALookupWithoutReferencesIsAnError(t *testing.T) {
	_, err := Compile(hostsPolicy())
	if err == nil || !strings.Contains(err.Error(), "main.rego:5") ||
		!strings.Contains(err.Error(), "match.references") {
		t.Errorf("got %v", err)
	}
	p := hostsPolicy(theIngresses)
	p.Spec.Rego.Libraries = []v1alpha1.RegoLibrary{{Name: "lib.rego", Source: "package inventory.x\n\na := 1\n"}}
	if _, err = Compile(p); err == nil || !strings.Contains(err.Error(), "give it another name") {
		t.Errorf("a package in the way: got %v", err)
	}
}

func TestASelectorChoosesWhatIsLookedUp(t *testing.T) {
	chosen := theIngresses
	chosen.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"public": "true"}}
	compiled, err := Compile(hostsPolicy(chosen))
	if err != nil {
		t.Fatal(err)
	}
	public, private := ingress("shop", "web", "a.example"), ingress("shop", "other", "b.example")
	public.SetLabels(map[string]string{"public": "true"})
	held := table(t, compiled.References()[0], public, private)
	if held.Len() != 1 {
		t.Fatalf("%d objects are kept", held.Len())
	}
	public.SetLabels(nil)
	item, err := held.Compact(public)
	if err != nil || !held.Put(item) || held.Len() != 0 {
		t.Errorf("%v; an object that isn't chosen any more is kept", err)
	}
}

// TestWhatIsKeptIsOfTheVersionThatRulesName goes through the versions that a policy names: in another one than what is
// kept, its rules would find nothing, and pass.
func TestWhatIsKeptIsOfTheVersionThatRulesName(t *testing.T) {
	of := func(version string) v1alpha1.ReferencedKind {
		named := theIngresses
		named.Version = version
		return named
	}
	cases := map[string]struct {
		reason     string
		rules      string
		references []v1alpha1.ReferencedKind
		versions   []string
		err        string
	}{
		"the reference names none": {"the rules do",
			"", []v1alpha1.ReferencedKind{of("")}, []string{"v1"}, ""},
		"both name the same": {"they agree", "", []v1alpha1.ReferencedKind{of("v1")}, []string{"v1"}, ""},
		"they name different ones": {"the rules would never find an Ingress",
			"", []v1alpha1.ReferencedKind{of("v2")}, nil, "look Ingress up in v1,"},
		"the rules name two": {"an object is kept in one version",
			`deny contains "x" if data.inventory.namespace.a["networking.k8s.io/v2"].Ingress.b`,
			[]v1alpha1.ReferencedKind{of("")}, nil, "look Ingress up in v1 and v2,"},
		"each has a reference of its own": {"it is kept in both",
			`deny contains "x" if data.inventory.namespace.a["networking.k8s.io/v2"].Ingress.b`,
			[]v1alpha1.ReferencedKind{of("v1"), of("v2")}, []string{"v1", "v2"}, ""},
		"one of two has none": {"it has what is left",
			`deny contains "x" if data.inventory.namespace.a["networking.k8s.io/v2"].Ingress.b`,
			[]v1alpha1.ReferencedKind{of("v1"), of("")}, []string{"v1", "v2"}, ""},
		"another rule takes any": {"it finds the same objects",
			`deny contains "x" if data.inventory.namespace.a[_].Ingress.b`,
			[]v1alpha1.ReferencedKind{of("")}, []string{"v1"}, ""},
		"another group's version": {"that isn't looked up here",
			`deny contains "x" if data.inventory.namespace.a["extensions/v1beta1"].Ingress.b`,
			[]v1alpha1.ReferencedKind{of("")}, []string{"v1"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := hostsPolicy(tc.references...)
			p.Spec.Rego.Main += "\n" + tc.rules + "\n"
			compiled, err := Compile(p)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var versions []string
			for _, r := range compiled.References() {
				versions = append(versions, r.Version)
			}
			if !slices.Equal(versions, tc.versions) {
				t.Errorf("%s: kept in %q, want %q", tc.reason, versions, tc.versions)
			}
		})
	}
}
