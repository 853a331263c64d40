// SPDX-License-Identifier: Apache-2.0

package fixtest

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Now is the time of the tests.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// insists is an enforced policy on cluster-scoped Widgets that wants a label.
func insists(name, label string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Admission.Action = v1alpha1.AdmissionDeny
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{"example.com"}, Kinds: []string{"Widget"}}}
	p.Spec.Rego = v1alpha1.RegoSource{File: "p.rego", Main: fmt.Sprintf(`package p

import rego.v1

deny contains "no label %[1]s" if not input.object.metadata.labels.%[1]s

remediation contains {"action": "patch", "ops": [
	{"op": "add", "path": "/metadata/labels/%[1]s", "value": "x"},
]} if not input.object.metadata.labels.%[1]s
`, label)}
	p.SetDefaults()
	return p
}

// Widget is a cluster-scoped object with some labels.
func Widget(labels map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "uid": "u", "labels": labels}}}
}

// Waived is a catalog of the policies "owner" and "team" with a waiver from
// one of them until the time given.
func Waived(t *testing.T, policyName string, until time.Time) *catalog.Snapshot {
	t.Helper()
	c := catalog.New(catalog.Options{TimeLimit: time.Minute})
	for _, p := range []*v1alpha1.ClusterRegoPolicy{insists("owner", "owner"), insists("team", "team")} {
		if err := c.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	e := &v1alpha1.ClusterWaiver{ObjectMeta: metav1.ObjectMeta{Name: "legacy"}}
	e.Spec.WaiverTerms = v1alpha1.WaiverTerms{Policies: []string{policyName}, Reason: "moves next quarter",
		ExpirationTime: metav1.NewTime(until)}
	if err := c.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	return c.Snapshot()
}
