// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/manifest"
)

// TestTheBoundsAreTheSchemas compares them with those of the CustomResourceDefinition.
func TestTheBoundsAreTheSchemas(t *testing.T) {
	text, err := os.ReadFile("../../../config/crd/bases/evenkeel.dev_clusterregopolicies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		t.Fatal(err)
	}
	match := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["match"].Properties
	entry := match["kinds"].Items.Schema.Properties
	for field, bound := range map[string]struct {
		has  apiextensionsv1.JSONSchemaProps
		want int64
	}{
		"match.kinds": {match["kinds"], maxEntries}, "apiGroups": {entry["apiGroups"], maxGroups},
		"kinds": {entry["kinds"], maxKinds}, "namespaces": {match["namespaces"], maxNamespaces},
		"excludedNamespaces": {match["excludedNamespaces"], maxNamespaces},
		"references":         {match["references"], maxReferences},
	} {
		if bound.has.MaxItems == nil || *bound.has.MaxItems != bound.want {
			t.Errorf("%s: %v, want %d", field, bound.has.MaxItems, bound.want)
		}
	}
}

// TestWhatTheAPIServerWouldRefuseNeedsWork migrates constraints with longer lists than a policy may have, and Secrets
// that only Gatekeeper's Config names.
func TestWhatTheAPIServerWouldRefuseNeedsWork(t *testing.T) {
	const template = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: looks}
spec:
  crd: {spec: {names: {kind: Looks}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package looks

      violation[{"msg": "x"}] { data.inventory.namespace[_].v1[input.parameters.kind][_].x }
---
`
	config := func(kinds ...string) string {
		text := "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\nspec:\n  sync:\n" +
			"    syncOnly:\n"
		for _, kind := range kinds {
			text += fmt.Sprintf("    - {group: \"\", version: v1, kind: %s}\n", kind)
		}
		return text + "---\n"
	}
	constraint := func(match string) string {
		return "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: Looks\nmetadata: {name: x}\n" +
			"spec: {match: {" + match + "}}\n"
	}
	const services = `kinds: [{apiGroups: [""], kinds: [Service]}]`
	many := func(prefix string, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint(prefix, i))
		}
		return names
	}
	list := func(names []string) string { return "[" + strings.Join(names, ", ") + "]" }
	for name, tc := range map[string]struct {
		text, refused, note string
		resources           int
	}{
		"as many as there may be": {config(many("Kind", 16)...) + template +
			constraint(services+", excludedNamespaces: "+list(many("n", 64))), "", "", 1},
		"kinds that are looked up": {config(many("Kind", 17)...) + template + constraint(services),
			"match.references would have 17 entries, and a policy has at most 16", "", 0},
		"namespaces": {config("Service") + template + constraint(services+", namespaces: "+list(many("n", 65))),
			"match.namespaces would have 65 entries", "", 0},
		"excluded namespaces": {config("Service") + template +
			constraint(services+", excludedNamespaces: "+list(many("n", 65))),
			"match.excludedNamespaces would have 65 entries", "", 0},
		"kinds of one entry": {config("Service") + template +
			constraint("kinds: [{apiGroups: "+list(many("g", 17))+", kinds: "+list(many("Kind", 33))+"}]"), "", "", 4},
		"Secrets that only Config names": {config("Service", "Secret") + template + constraint(services), "",
			"Secrets are left out", 1},
	} {
		t.Run(name, func(t *testing.T) {
			given, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(tc.text), manifest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, inMemory := range []bool{false, true} {
				var notes string
				var last Item
				for _, item := range Migrate(given, Options{InMemory: inMemory}) {
					notes += strings.Join(item.Notes, "\n") + "\n"
					last = item
				}
				refused := tc.refused != "" && !inMemory
				if (last.State == NeedsWork) != refused || refused && !strings.Contains(notes, tc.refused) ||
					!strings.Contains(notes, tc.note) {
					t.Errorf("in memory %t: %s, %q", inMemory, last.State, notes)
				}
				if last.Policy != nil && !inMemory && len(last.Policy.Spec.Match.Kinds) != tc.resources {
					t.Errorf("resources are %v, want %d entries", last.Policy.Spec.Match.Kinds, tc.resources)
				}
			}
		})
	}
}
