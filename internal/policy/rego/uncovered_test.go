// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestALookupThatNoReferenceCoversIsAnError has rules look up what match.references doesn't name, beside what it does.
func TestALookupThatNoReferenceCoversIsAnError(t *testing.T) {
	const ingresses = `deny contains "x" if data.inventory.namespace[_]["networking.k8s.io/v1"].Ingress[_].spec.a` + "\n"
	of := func(group, version, kind string) v1alpha1.ReferencedKind {
		return v1alpha1.ReferencedKind{APIGroup: group, Version: version, Kind: kind}
	}
	for name, tc := range map[string]struct {
		rules      string
		references []v1alpha1.ReferencedKind
		want       []string
	}{
		"another kind": {`deny contains "x" if data.inventory.namespace[_].v1.Service[_].spec.a`, nil,
			[]string{"a.rego:3:22: ", "look Service of v1 up", "match.references"}},
		"another group": {`deny contains "x" if data.inventory.cluster["x.example/v1"].Ingress[_].spec.a`, nil,
			[]string{"a.rego:3:", "Ingress of x.example/v1"}},
		"another version": {`deny contains "x" if data.inventory.namespace[_]["batch/v1"].Job[_]`,
			[]v1alpha1.ReferencedKind{of("batch", "v2", "Job")}, []string{"Job", "v1"}},
		"two kinds": {`deny contains "x" if { data.inventory.namespace[_].v1.Service[_]; data.inventory.cluster.v1.Node[_] }`,
			nil, []string{"look Service of v1 up", "look Node of v1 up"}},
		"in a function": {"f(ns) := data.inventory.namespace[ns].v1.Service\n" +
			`deny contains "x" if f(input.object.metadata.namespace)`, nil, []string{"a.rego:3:10: ", "Service of v1"}},
		"by an import": {"import data.inventory as all\n" + `deny contains "x" if all.namespace[_].v1.Service`, nil,
			[]string{"a.rego:4:", "Service of v1"}},
		"by a name of its own": {`deny contains "x" if { all := data.inventory.namespace; all[_].v1.Service }`, nil,
			[]string{"a.rego:", "Service of v1"}},
		"what is named": {`deny contains "x" if data.inventory.namespace[_].v1.Service[_].spec.a`,
			[]v1alpha1.ReferencedKind{of("", "", "Service")}, nil},
		"what is named in its version": {`deny contains "x" if data.inventory.namespace[_]["batch/v1"].Job[_]`,
			[]v1alpha1.ReferencedKind{of("batch", "v1", "Job")}, nil},
		"a version that Kubernetes has removed, beside the one that it has": {
			`deny contains "x" if data.inventory.namespace[_]["extensions/v1beta1"].Ingress[_].spec.a`, nil, nil},
		"a version that Kubernetes has removed": {
			`deny contains "x" if data.inventory.namespace[_]["extensions/v1beta1"].Deployment[_].spec.a`, nil,
			[]string{"Deployment of extensions/v1beta1"}},
		"a kind that is computed": {`deny contains "x" if data.inventory.namespace[_].v1[input.object.kind][_].spec.a`,
			nil, nil},
		"a version that is computed": {`deny contains "x" if data.inventory.namespace[_][input.object.v].Job[_].spec.a`,
			nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := hostsPolicy(append(tc.references, theIngresses)...)
			imports, rules := "", tc.rules
			if first, rest, found := strings.Cut(tc.rules, "\n"); found && strings.HasPrefix(first, "import") {
				imports, rules = first+"\n", rest
			}
			p.Spec.Rego.File = "a.rego"
			p.Spec.Rego.Main = "package a\n" + imports + "\n" + rules + "\n" + ingresses
			_, err := Compile(p)
			if len(tc.want) == 0 && err != nil {
				t.Errorf("got %v", err)
			}
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want %q", err, part)
				}
			}
		})
	}
}
