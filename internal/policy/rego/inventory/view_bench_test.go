// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// services are a table of so many small objects in so many namespaces.
func services(tb testing.TB, objects, spaces int) *Table {
	t := NewTable(Reference{Kind: "Service", Selector: labels.Everything(), Fields: []string{"spec.type"}}, "v1")
	for i := range objects {
		put(tb, t, fmt.Sprintf("namespace-%d", i%spaces), fmt.Sprintf("object-%d", i), "ClusterIP")
	}
	return t
}

func put(tb testing.TB, t *Table, namespace, name, kind string) {
	tb.Helper()
	item, err := t.Compact(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     map[string]any{"type": kind}}})
	if err != nil {
		tb.Fatal(err)
	}
	t.Put(item)
}

// BenchmarkView takes a view of 150,000 objects in 500 namespaces after the change of one, and of all anew.
func BenchmarkView(b *testing.B) {
	t := services(b, 150_000, 500)
	j := Join(t)
	j.View()
	b.Run("one changed", func(b *testing.B) {
		for i := range b.N {
			put(b, t, "namespace-7", "object-7", fmt.Sprint(i))
			j.View()
		}
	})
	b.Run("all anew", func(b *testing.B) {
		for range b.N {
			for _, in := range t.spaces {
				in.value = nil
			}
			Join(t).View()
		}
	})
}
