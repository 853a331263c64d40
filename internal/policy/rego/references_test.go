// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
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
	p.Spec.Match = v1alpha1.Match{References: references, Kinds: []v1alpha1.KindMatch{{
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
			d := compiled.On(engine).Evaluate(t.Context(), in.WithInventory(view), time.Minute)
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

// topdown asks the store for the whole of a path without variables, through lists too.
func TestALookUpNamesAnElementOfAList(t *testing.T) {
	object := ingress("shop", "new", "a.example")
	for rule, want := range map[string]int{
		`input.object.spec.rules[0].host == web.spec.rules[1].host`: 1,
		`web.spec.rules[1] == {"host": "a.example"}`:                1,
		`web.spec.rules[0].host == "a.example"`:                     0,
		`web.spec.rules[2].host`:                                    0,
		`web.spec.rules[-1].host`:                                   0,
		`web.spec.rules[1.0].host == "a.example"`:                   1,
		`web.spec.rules["1"].host == "a.example"`:                   1,
		`web.spec.rules["01"].host == "a.example"`:                  1,
		`web.spec.rules["1.0"].host == "a.example"`:                 1,
		`web.spec.rules[input.object.spec.at].host == "a.example"`:  1,
		`web.spec.rules["x"].host`:                                  0,
		`web.spec.rules["1.5"].host`:                                0,
	} {
		object.Object["spec"].(map[string]any)["at"] = "01"
		p := hostsPolicy(theIngresses)
		p.Spec.Rego.Main = "package hosts\n\ndeny contains \"found\" if " + strings.ReplaceAll(rule, "web.",
			`data.inventory.namespace[input.object.metadata.namespace]["networking.k8s.io/v1"].Ingress.web.`)
		compiled, err := Compile(p)
		if err != nil {
			t.Fatal(rule, err)
		}
		joined := inventory.Join(table(t, compiled.References()[0], ingress("shop", "web", "b.example", "a.example")))
		in, err := NewInput(policy.NewAudit(object.Object, nil, time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		for _, engine := range []Engine{Topdown, CompiledEngine} {
			d := compiled.On(engine).Evaluate(t.Context(), in.WithInventory(joined.View()), time.Minute)
			if d.Err != nil || d.Engine != engine || len(d.Violations) != want {
				t.Errorf("%s: %s (%s) finds %v, %v; want %d", rule, engine, d.Engine, d.Violations, d.Err, want)
			}
		}
	}
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
	chosen.Selector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"public": "true"}}
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

// Several requests look the same objects up at once, and OPA puts keys in order when they are first compared, while they
// may be measured elsewhere.
func TestWhatIsLookedUpIsOnlyRead(t *testing.T) {
	p := hostsPolicy(theIngresses)
	p.Spec.Rego.Main = `package hosts

deny contains sprintf("%d", [count(sorted)]) if {
	spaces := data.inventory.namespace
	all := [other | other := spaces[_]["networking.k8s.io/v1"].Ingress[_]]
	given := [data.inventory, spaces.shop, spaces.pay, input.parameters.a, input.parameters.b]
	written := [{"b": {"z", "x", "y"}, "a": {"d": 1, "c": 2}}, {"b": {"z", "x", "y"}, "a": {"d": 1, "c": 2}}]
	sorted := sort(array.concat(written, array.concat(all, given)))
}
`
	p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(
		`{"a":{"z":1,"y":{"b":1,"a":2},"x":2},"b":{"z":1,"y":{"b":1,"a":1},"x":2}}`)}
	for range 20 {
		compiled, err := Compile(p) // whose constants and parameters nothing has been compared with yet
		if err != nil {
			t.Fatal(err)
		}
		held := table(t, compiled.References()[0], ingress("shop", "web", "a"), ingress("shop", "wec", "b"),
			ingress("pay", "web", "c"))
		view := inventory.Join(held).View()
		var judging sync.WaitGroup
		for i := range 4 {
			engine := []Engine{Topdown, CompiledEngine}[i%2]
			judging.Go(func() {
				in, err := NewInput(policy.NewAudit(ingress("x", "y").Object, nil, time.Now()))
				if err != nil {
					t.Error(err)
					return
				}
				if d := compiled.On(engine).Evaluate(t.Context(), in.WithInventory(view), time.Minute); d.Err != nil ||
					len(d.Violations) != 1 {
					t.Errorf("%s: %v, %v", engine, d.Violations, d.Err)
				}
			})
		}
		judging.Wait()
	}
}

// TestANumberIsAName has a number name a field of what is looked up, as topdown has it, also where a rule replaces
// another part of data.
func TestANumberIsAName(t *testing.T) {
	const at = `data.inventory.namespace.shop["networking.k8s.io/v1"].Ingress.web.spec`
	object := ingress("shop", "new", "a.example")
	object.Object["spec"].(map[string]any)["port"] = int64(80)
	web := ingress("shop", "web", "b.example")
	web.Object["spec"].(map[string]any)["80"] = "taken"
	for name, rules := range map[string]string{
		"as it stands":                `deny contains "found" if taken`,
		"beside what is replaced":     `deny contains "found" if taken with data.inventory.cluster.extra as 1`,
		"beside a rule's other value": "other := 1\ndeny contains \"found\" if taken with other as 2",
	} {
		p := hostsPolicy(theIngresses)
		p.Spec.Rego.Main = "package hosts\n\ntaken if " + at + "[input.object.spec.port] == \"taken\"\n\n" + rules
		compiled, err := Compile(p)
		if err != nil {
			t.Fatal(name, err)
		}
		joined := inventory.Join(table(t, compiled.References()[0], web))
		in, err := NewInput(policy.NewAudit(object.Object, nil, time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		for _, engine := range []Engine{Topdown, CompiledEngine} {
			d := compiled.On(engine).Evaluate(t.Context(), in.WithInventory(joined.View()), time.Minute)
			if d.Err != nil || len(d.Violations) != 1 {
				t.Errorf("%s: %s (%s) finds %v, %v; want one violation", name, engine, d.Engine, d.Violations, d.Err)
			}
		}
	}
}

// Topdown compares arrays by recursion. Go ends the process, and not the evaluation, if the stack overflows.
func TestComparingLargeReferencedObjectsEndsTheEvaluationOnly(t *testing.T) {
	p := hostsPolicy(theIngresses)
	p.Spec.Rego.Main = `package hosts

deny contains "the same" if {
	some one in data.inventory.namespace.shop["networking.k8s.io/v1"].Ingress
	some other in data.inventory.namespace.pay["networking.k8s.io/v1"].Ingress
	one.spec.rules == other.spec.rules
}
`
	compiled, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	rules := make([]any, 1_000_000)
	for i := range rules {
		rules[i] = map[string]any{}
	}
	large := func(namespace string) *unstructured.Unstructured {
		object := ingress(namespace, "web", "a")
		object.Object["spec"] = map[string]any{"rules": rules}
		return object
	}
	held := table(t, compiled.References()[0], large("shop"), large("pay"))
	in, err := NewInput(policy.NewAudit(ingress("x", "y").Object, nil, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	d := compiled.On(Topdown).Evaluate(t.Context(), in.WithInventory(inventory.Join(held).View()), time.Minute)
	if !errors.Is(d.Err, budget.ErrMemory) {
		t.Errorf("%d violations, error %v, want %v", len(d.Violations), d.Err, budget.ErrMemory)
	}
}
