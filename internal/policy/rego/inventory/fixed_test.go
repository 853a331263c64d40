// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// TestPutStandsInPlace changes what rules find, whether they have looked before or not.
func TestPutStandsInPlace(t *testing.T) {
	widget := func(version, namespace, name, size string) map[string]any {
		return map[string]any{"apiVersion": "example.com/" + version, "kind": "Widget",
			"metadata": map[string]any{"namespace": namespace, "name": name}, "size": size}
	}
	for name, tc := range map[string]struct {
		put  map[string]any
		want string
	}{
		"the same name":           {widget("v1", "shop", "a", "2"), `{"v1 shop a": "2", "v1 shop b": "1"}`},
		"another namespace":       {widget("v1", "bank", "a", "2"), `{"v1 bank a": "2", "v1 shop a": "1", "v1 shop b": "1"}`},
		"another name":            {widget("v1", "shop", "c", "2"), `{"v1 shop a": "1", "v1 shop b": "1", "v1 shop c": "2"}`},
		"the name, in a version":  {widget("v2", "shop", "a", "2"), `{"v1 shop b": "1", "v2 shop a": "2"}`},
		"nothing that has a name": {map[string]any{"apiVersion": "v1", "kind": "Widget"}, `{"v1 shop a": "1", "v1 shop b": "1"}`},
	} {
		for _, looked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, looked before: %t", name, looked), func(t *testing.T) {
				fixed := inventory.NewFixed([]map[string]any{widget("v1", "shop", "a", "1"),
					widget("v1", "shop", "b", "1")}, nil)
				references := []inventory.Reference{{Group: "example.com", Kind: "Widget",
					Selector: labels.Everything(), Fields: []string{"size"}}}
				if looked {
					if _, err := fixed.Tables(references); err != nil {
						t.Fatal(err)
					}
				}
				if err := fixed.Put(tc.put); err != nil {
					t.Fatal(err)
				}
				tables, err := fixed.Tables(references)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(ast.MustParseTerm(tc.want).String(), sizes(t, tables.View())); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

// sizes are those of the widgets that a view holds, by version, namespace and name.
func sizes(t *testing.T, view *inventory.View) string {
	t.Helper()
	out := ast.NewObject()
	found, err := view.Data.Value.Find(ast.MustParseRef("data.inventory.namespace")[1:])
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1", "v2"} {
		for _, namespace := range []string{"bank", "shop"} {
			for _, name := range []string{"a", "b", "c"} {
				way := ast.Ref{ast.StringTerm(namespace), ast.StringTerm("example.com/" + version),
					ast.StringTerm("Widget"), ast.StringTerm(name), ast.StringTerm("size")}
				if size, err := found.Find(way); err == nil {
					out.Insert(ast.StringTerm(version+" "+namespace+" "+name), ast.NewTerm(size))
				}
			}
		}
	}
	return ast.NewTerm(out).String()
}
