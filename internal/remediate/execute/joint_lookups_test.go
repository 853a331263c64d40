// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// live finds ConfigMaps as the API server has them at the moment.
type live struct {
	t   *testing.T
	api client.Client
}

func (l *live) Tables(references []inventory.Reference) (*inventory.Joined, error) {
	list := &corev1.ConfigMapList{}
	if err := l.api.List(l.t.Context(), list); err != nil {
		return nil, err
	}
	objects := make([]map[string]any, len(list.Items))
	for i := range list.Items {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&list.Items[i])
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{Object: content}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		objects[i] = object.Object
	}
	return inventory.NewFixed(objects, nil).Tables(references)
}

func (*live) Shows(inventory.Reference, string) error { return nil }

func (*live) Unknown([]inventory.Reference) []inventory.Unknown { return nil }

// unique is a policy by which no two ConfigMaps of the namespace have the same data.b.
func unique() *v1alpha1.ClusterRegoPolicy {
	p := wants("unique", "b", "x")
	p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: "ConfigMap"}}
	p.Spec.Rego.Main = `package p

import rego.v1

shared if {
	some name, other in data.inventory.namespace.shop.v1.ConfigMap
	name != input.object.metadata.name
	other.data.b == input.object.data.b
}

deny contains "b must be unique" if shared

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/data/b",
	"value": sprintf("of-%s", [input.object.metadata.name])}]} if shared
`
	return p
}

// A plan whose rules look other objects up writes in turn, whether it leads a write or others do: what its first write
// heals is left as it is.
func TestAPlanThatLooksUpTakesNoPartInWritesOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		lead int
		// written are how many of the two objects are changed for the sake of the policy that looks up.
		written int
	}{
		"it leads":      {lead: 1, written: 1},
		"another leads": {lead: 0, written: 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := &live{t: t}
			all := catalog.New(catalog.Options{TimeLimit: time.Minute, Inventory: l})
			plain, looking := wants("a", "a", "good"), unique()
			for _, p := range []*v1alpha1.ClusterRegoPolicy{plain, looking} {
				if err := all.Set(p); err != nil {
					t.Fatal(err)
				}
			}
			c := companyOf(t, all.Snapshot(), plain, looking)
			l.api = c.api
			second := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "second", UID: "u2"},
				Data: map[string]string{"a": "bad", "b": "bad", "c": "bad"}}
			if err := c.api.Create(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			for n, p := range c.passes {
				p.Records.Add(&v1alpha1.RemediationSlice{Targets: []v1alpha1.Target{{Wave: 1,
					Object: v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop",
						Name: "second", UID: "u2"}}}})
				other := c.passes[1-n]
				p.Partners = func(context.Context, map[string]bool) []*Partner {
					return []*Partner{{Pass: other, Ready: map[string]int{"u1": 0, "u2": 1}, Room: 10,
						Leave: func() {}}}
				}
			}
			if err := c.passes[tc.lead].write(t.Context(), []int{0, 1}); err != nil {
				t.Fatal(err)
			}
			written, fixed := 0, 0
			for _, name := range []string{"web", "second"} {
				object := &corev1.ConfigMap{}
				if err := c.api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, object); err != nil {
					t.Fatal(err)
				}
				if object.Data["b"] != "bad" {
					written++
				}
				if object.Data["a"] == "good" {
					fixed++
				}
			}
			if written != tc.written || fixed == 0 {
				t.Errorf("%d are written for the policy that looks up, want %d; %d for the other", written,
					tc.written, fixed)
			}
		})
	}
}
