// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy"
)

// TestAViewIsAsIfMadeAnew changes tables at random, two of them of the same kind, and compares the view that takes
// over what hasn't changed with one that takes over nothing.
func TestAViewIsAsIfMadeAnew(t *testing.T) {
	table := func(kind string, fields ...string) *Table {
		return NewTable(Reference{Kind: kind, Selector: labels.Everything(), Fields: fields}, "v1")
	}
	rapid.Check(t, func(t *rapid.T) {
		tables := []*Table{table("Service", "spec.type"), table("Service"), table("Node"), table("Pod", "spec.type")}
		all := Join(tables...)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			for range rapid.IntRange(0, 8).Draw(t, "changes") {
				in := tables[rapid.IntRange(0, len(tables)-1).Draw(t, "table")]
				name := fmt.Sprint("o", rapid.IntRange(0, 5).Draw(t, "name"))
				metadata := map[string]any{"name": name}
				if in.kind != "Node" {
					metadata["namespace"] = fmt.Sprint("n", rapid.IntRange(0, 3).Draw(t, "namespace"))
				}
				object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": in.kind,
					"metadata": metadata, "spec": map[string]any{"type": rapid.SampledFrom([]string{"a", "b"}).Draw(t,
						"type")}}}
				if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
					in.Delete(object.GetNamespace(), name)
					continue
				}
				item, err := in.Compact(object)
				if err != nil {
					t.Fatal(err)
				}
				in.Put(item)
			}
			got, want := all.View(), Join(tables...).View()
			if got.Data.Value.Compare(want.Data.Value) != 0 {
				t.Fatalf("the view is %v, built from scratch it is %v", got.Data, want.Data)
			}
			if all.View() != got {
				t.Fatal("without a change the view isn't the same")
			}
		}
	})
}

// TestOneChangeMakesOneNamespaceAnew holds a view to what it costs: all other namespaces are the same values.
func TestOneChangeMakesOneNamespaceAnew(t *testing.T) {
	table := services(t, 200, 20)
	all := Join(table)
	namespaces := func() map[string]ast.Value {
		out := map[string]ast.Value{}
		spaces := all.View().Data.Value.(ast.Object).Get(ast.StringTerm(Root)).Value.(ast.Object).Get(
			ast.StringTerm("namespace"))
		spaces.Value.(ast.Object).Foreach(func(key, value *ast.Term) {
			out[string(key.Value.(ast.String))] = value.Value
		})
		return out
	}
	before := namespaces()
	put(t, table, "namespace-7", "object-7", "NodePort")
	var changed []string
	for name, value := range namespaces() {
		if before[name] != value {
			changed = append(changed, name)
		}
	}
	if len(before) != 20 || len(changed) != 1 || changed[0] != "namespace-7" {
		t.Errorf("of %d namespaces, %v are made anew, want namespace-7", len(before), changed)
	}
}

// An object of another version than those of the cluster are kept in would stand beside itself as it was, so that a fix
// could be proven by what it changes, or harm be missed. What is written in files is seen as it is written.
func TestAnObjectOfAnotherVersionIsntLookedUpBesideItself(t *testing.T) {
	scaler := func(apiVersion, name string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": "HorizontalPodAutoscaler",
			"metadata": map[string]any{"namespace": "shop", "name": name}}
	}
	r := Reference{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler", Selector: labels.Everything()}
	table := NewTable(r, "autoscaling/v1")
	item, err := table.Compact(&unstructured.Unstructured{Object: scaler("autoscaling/v1", "web")})
	if err != nil {
		t.Fatal(err)
	}
	table.Put(item)
	cluster := Join(table)
	files, err := NewFixed([]map[string]any{scaler("autoscaling/v2", "web")}, nil).Tables([]Reference{r})
	if err != nil {
		t.Fatal(err)
	}
	other := scaler("autoscaling/v2", "web")
	foreign := scaler("autoscaling/v2", "web")
	foreign["apiVersion"] = "example.com/v2"
	for name, tc := range map[string]struct {
		in              *Joined
		present, absent map[string]any
		unknown         bool
	}{
		"of the same version":             {in: cluster, present: scaler("autoscaling/v1", "web")},
		"left out, of the same version":   {in: cluster, absent: scaler("autoscaling/v1", "web")},
		"of another version":              {in: cluster, present: other, unknown: true},
		"left out, of another version":    {in: cluster, absent: other, unknown: true},
		"of another group":                {in: cluster, present: foreign},
		"of another version, among files": {in: files, present: other},
		"of another kind in the same group": {in: cluster,
			present: map[string]any{"apiVersion": "autoscaling/v2", "kind": "X"}},
	} {
		t.Run(name, func(t *testing.T) {
			var present, absent []map[string]any
			if tc.present != nil {
				present = append(present, tc.present)
			}
			if tc.absent != nil {
				absent = append(absent, tc.absent)
			}
			_, err := tc.in.With(present, absent)
			if policy.LookupUnknown(err) != tc.unknown || (err != nil) != tc.unknown {
				t.Errorf("got %v", err)
			}
			if says := "web is of autoscaling/v2, and rules look its kind up as autoscaling/v1"; tc.unknown &&
				!strings.Contains(err.Error(), says) {
				t.Errorf("it says %q", err)
			}
		})
	}
}
