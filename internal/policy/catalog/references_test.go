// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// sharing is a catalog with the policy "shares", which looks up ConfigMaps with some labels, or all, of those that an
// inventory keeps.
func sharing(t *testing.T, in Inventory, chosen ...map[string]string) *Snapshot {
	t.Helper()
	c := New(Options{Inventory: in})
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name = "shares"
	p.Spec.Rego.Main = "package a\n\ndeny contains \"x\" if " +
		"data.inventory.namespace.shop.v1.ConfigMap[input.object.a]\n"
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: "ConfigMap"}}
	if len(chosen) > 0 {
		p.Spec.Match.References = nil
	}
	for _, labels := range chosen {
		selector := &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{}}
		for key, value := range labels {
			selector.MatchLabels[key] = v1alpha1.LabelValue(value)
		}
		p.Spec.Match.References = append(p.Spec.Match.References,
			v1alpha1.ReferencedKind{Kind: "ConfigMap", Selector: selector})
	}
	if err := c.Set(p); err != nil {
		t.Fatal(err)
	}
	return c.Snapshot()
}

func configMap(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "shop", "name": name}}
}

func TestWhatRulesFindIsToldByItsName(t *testing.T) {
	unknown := errors.New("not listed yet")
	service := map[string]any{"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": "shop", "name": "web"}}
	kept := inventory.NewFixed([]map[string]any{configMap("web"), service}, nil)
	for name, tc := range map[string]struct {
		in        Inventory
		policy    string
		kind      string
		namespace string
		object    string
		want      bool
		err       error
	}{
		"it is there":                       {in: kept, object: "web", want: true},
		"another one is there":              {in: kept, object: "second"},
		"it is there in another namespace":  {in: kept, object: "web", namespace: "other"},
		"one of a kind that isn't referred": {in: kept, object: "web", kind: "Service"},
		"no policy of that name":            {in: kept, object: "web", policy: "another"},
		"its kind isn't known": {in: inventory.NewFixed(nil, map[schema.GroupKind]error{{Kind: "ConfigMap"}: unknown}),
			object: "web", err: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			ref := v1alpha1.ObjectReference{APIVersion: "v1", Kind: cmp.Or(tc.kind, "ConfigMap"),
				Namespace: cmp.Or(tc.namespace, "shop"), Name: tc.object}
			got, err := sharing(t, tc.in).Holds(cmp.Or(tc.policy, "shares"), ref)
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("got %t: %v", got, err)
			}
		})
	}
}

// A policy of two references, of which one isn't known, judges nothing, though its other is known.
func TestAPolicyKnowsAllThatItLooksUpOrNothing(t *testing.T) {
	unknown := errors.New("its watch is broken")
	broken := map[schema.GroupKind]error{{Kind: "Service"}: unknown}
	for name, tc := range map[string]struct {
		references []string
		want       error
	}{
		"nothing is looked up":   {},
		"what is known":          {references: []string{"ConfigMap"}},
		"what isn't":             {references: []string{"Service"}, want: unknown},
		"both of them":           {references: []string{"ConfigMap", "Service"}, want: unknown},
		"both, in another order": {references: []string{"Service", "ConfigMap"}, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{Inventory: inventory.NewFixed([]map[string]any{configMap("web")}, broken)})
			p := &v1alpha1.ClusterRegoPolicy{}
			p.Name, p.Spec.Rego.Main = "refers", "package a\n\ndeny contains \"x\" if input.object.a\n"
			p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}
			for _, kind := range tc.references {
				p.Spec.Match.References = append(p.Spec.Match.References, v1alpha1.ReferencedKind{Kind: kind})
			}
			if err := c.Set(p); err != nil {
				t.Fatal(err)
			}
			if err := c.Snapshot().Knows("refers"); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// lagging keeps some objects, and its watch has shown nothing of late.
type lagging struct{ *inventory.Fixed }

var errLags = errors.New("its watch lags behind")

func (lagging) Shows(inventory.Reference, string) error { return errLags }

// An object that a selector leaves out is never shown by its watch, and so isn't waited for, once that is known.
func TestAnObjectThatTheSelectorLeavesOutIsntWaitedFor(t *testing.T) {
	object := func(labels map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: configMap("web")}
		o.SetLabels(labels)
		return o
	}
	red, blue := map[string]string{"color": "red"}, map[string]string{"color": "blue"}
	for name, tc := range map[string]struct {
		chosen   []map[string]string
		object   *unstructured.Unstructured
		kept     *unstructured.Unstructured
		want     error
		selected bool
	}{
		"without a selector": {object: object(red), want: errLags, selected: true},
		"the selector chooses it": {chosen: []map[string]string{red}, object: object(red), want: errLags,
			selected: true},
		"the selector leaves it out": {chosen: []map[string]string{red}, object: object(blue)},
		"the selector has chosen it before": {chosen: []map[string]string{red}, object: object(blue), kept: object(red),
			want: errStillChosen},
		"one of two selectors chooses it": {chosen: []map[string]string{red, blue}, object: object(blue),
			want: errLags},
		"it is of another kind": {chosen: []map[string]string{red}, selected: true,
			object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var kept []map[string]any
			if tc.kept != nil {
				kept = append(kept, tc.kept.Object)
			}
			s := sharing(t, lagging{inventory.NewFixed(kept, nil)}, tc.chosen...)
			if err := s.Shows("shares", tc.object); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if got := s.Selects("shares", tc.object); got != tc.selected {
				t.Errorf("it is selected by all: %t", got)
			}
		})
	}
}
