// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

const isolated = `package isolated

import rego.v1

deny contains "its namespace isn't isolated" if {
	not data.inventory.namespace[input.object.metadata.namespace]["networking.k8s.io/v1"].NetworkPolicy.deny
}
`

// What a fix creates is looked up in the proof, in the namespace that it would be created in.
func TestProveFixFindsWhatItCreates(t *testing.T) {
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name = "isolated"
	p.Spec.Admission.Action = v1alpha1.AdmissionDeny
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	p.Spec.Match.References = []v1alpha1.ReferencedKind{{APIGroup: "networking.k8s.io", Kind: "NetworkPolicy"}}
	p.Spec.Rego = v1alpha1.RegoSource{File: "isolated.rego", Main: isolated}
	p.SetDefaults()
	policies := catalog.New(catalog.Options{Inventory: inventory.NewFixed(nil, nil)})
	if err := policies.Set(p); err != nil {
		t.Fatal(err)
	}
	subject := &check.Subject{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "web", "namespace": "shop"}}}
	for name, want := range map[string]string{"deny": "", "allow": "still violates: its namespace isn't isolated"} {
		create := policy.Action{Type: policy.ActionCreate, Object: map[string]any{"apiVersion": "networking.k8s.io/v1",
			"kind": "NetworkPolicy", "metadata": map[string]any{"name": name}}}
		proven, err := check.ProveFix(t.Context(), policies.Snapshot(), subject, "isolated",
			[]policy.Action{create}, time.Now())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		if want == "" && (len(proven.Steps) != 1 || proven.Steps[0].Object["metadata"] == nil) {
			t.Errorf("%s: its steps are %+v", name, proven.Steps)
		}
	}
}
