// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/internal/manifest"
)

func TestExemptionsOfConfigAreThoseOfEachPolicy(t *testing.T) {
	cases := map[string]struct {
		processes []any
		want      []string // what the constraint excludes
		told      string
	}{
		"from all":                 {processes: []any{"*"}, want: []string{"dev", "kube-*"}},
		"from admission and audit": {processes: []any{"audit", "webhook"}, want: []string{"dev", "kube-*"}},
		"from admission alone": {processes: []any{"webhook"}, want: []string{"dev"},
			told: "kube-*, dev from the webhook"},
		"from the audit alone": {processes: []any{"audit", "sync"}, want: []string{"dev"},
			told: "kube-*, dev from the audit"},
		"from what judges nothing":   {processes: []any{"sync", "mutation-webhook"}, want: []string{"dev"}},
		"of what is excluded anyway": {processes: []any{"*", "audit"}, want: []string{"dev", "kube-*"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			constraint := map[string]any{"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Teamed",
				"spec": map[string]any{"match": map[string]any{"excludedNamespaces": []any{"dev"}}}}
			config := map[string]any{"apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
				"spec": map[string]any{"match": []any{map[string]any{"processes": tc.processes,
					"excludedNamespaces": []any{"kube-*", "dev"}}}}}
			s := &Source{Documents: []manifest.Document{{Object: config}, {Object: constraint}}}
			s.exemptFrom(nil)
			excluded, _, err := unstructured.NestedStringSlice(constraint, "spec", "match", "excludedNamespaces")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, excluded); diff != "" {
				t.Error(diff)
			}
			told := strings.Join(s.Exemptions, "\n")
			if !strings.Contains(told, tc.told) || (tc.told == "") != (told == "") {
				t.Errorf("told %q, want %q", told, tc.told)
			}
		})
	}
}

func TestANamespaceThatGatekeeperIgnoresIsNamed(t *testing.T) {
	ns := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "legacy"}}}
	s := &Source{webhooks: []webhook{{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.
		LabelSelectorRequirement{{Key: ignoreLabel, Operator: metav1.LabelSelectorOpDoesNotExist}}}}}}
	s.exemptFrom([]unstructured.Unstructured{ns})
	if len(s.Exemptions) != 1 || !strings.Contains(s.Exemptions[0], "asked in legacy") ||
		!strings.Contains(s.Exemptions[0], "--exempt-namespaces") {
		t.Errorf("told %q", s.Exemptions)
	}
}

func TestAConstraintIsNamedAsPeopleNameIt(t *testing.T) {
	of := func(kind, name string) *Constraint {
		return &Constraint{Object: &unstructured.Unstructured{Object: map[string]any{"kind": kind,
			"metadata": map[string]any{"name": name}}}}
	}
	s := &Source{Constraints: []*Constraint{of("Teamed", "a"), of("Teamed", "b"), of("Hosted", "b")}}
	for name, want := range map[string]string{"a": "Teamed/a", "Teamed/a": "Teamed/a", "teamed/b": "Teamed/b",
		"b": "", "c": ""} {
		c, err := s.Constraint(name)
		if (err == nil) != (want != "") || err == nil && c.ID() != want {
			t.Errorf("%q is %v, %v; want %q", name, c, err, want)
		}
	}
}
