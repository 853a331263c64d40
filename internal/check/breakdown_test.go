// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// found is a policy's finding of so many violations in an object.
func found(namespace, name, policyName string, severity v1alpha1.Severity, violations int) Result {
	return Result{
		Subject: Subject{Object: map[string]any{"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"namespace": namespace, "name": name}}},
		Policy: &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: policyName},
			Spec: v1alpha1.RegoPolicySpec{Severity: severity, Owner: "team-" + policyName}},
		Violations: make([]policy.Violation, violations),
	}
}

func waived(r Result) Result {
	r.Waived = &catalog.Waiver{Name: "legacy"}
	return r
}

func TestBreakdown(t *testing.T) {
	r := Report{Results: []Result{
		found("shop", "a", "tags", v1alpha1.SeverityMedium, 3),
		found("shop", "a", "root", v1alpha1.SeverityHigh, 1),
		found("shop", "b", "tags", v1alpha1.SeverityMedium, 1),
		waived(found("bank", "c", "root", v1alpha1.SeverityHigh, 2)),
		found("bank", "c", "tags", v1alpha1.SeverityMedium, 5),
	}}
	want := Breakdown{
		Severities: []Share{
			{Name: "High", Worst: v1alpha1.SeverityHigh, Objects: 1, Violations: 1, Policies: 1},
			{Name: "Medium", Worst: v1alpha1.SeverityMedium, Objects: 3, Violations: 9, Policies: 1}},
		Namespaces: []Share{
			{Name: "shop", Worst: v1alpha1.SeverityHigh, Objects: 2, Violations: 5, Policies: 2},
			{Name: "bank", Worst: v1alpha1.SeverityMedium, Objects: 1, Violations: 5, Policies: 1}},
		Owners: []Share{
			{Name: "team-root", Worst: v1alpha1.SeverityHigh, Objects: 1, Violations: 1, Policies: 1},
			{Name: "team-tags", Worst: v1alpha1.SeverityMedium, Objects: 3, Violations: 9, Policies: 1}},
		Policies: []Share{
			{Name: "root", Worst: v1alpha1.SeverityHigh, Objects: 1, Violations: 1, Policies: 1},
			{Name: "tags", Worst: v1alpha1.SeverityMedium, Objects: 3, Violations: 9, Policies: 1}},
	}
	if diff := gocmp.Diff(want, r.Breakdown()); diff != "" {
		t.Errorf("breakdown (-want +got):\n%s", diff)
	}
}

func TestWorstFirst(t *testing.T) {
	r := Report{Results: []Result{
		found("shop", "a", "tags", v1alpha1.SeverityMedium, 1),
		found("shop", "b", "tags", v1alpha1.SeverityMedium, 4),
		waived(found("shop", "c", "root", v1alpha1.SeverityCritical, 2)),
		found("shop", "d", "root", v1alpha1.SeverityHigh, 1),
		found("shop", "d", "tags", v1alpha1.SeverityMedium, 1),
	}}
	var got []string
	for _, results := range r.WorstFirst() {
		name, _ := results[0].Object["metadata"].(map[string]any)["name"].(string)
		got = append(got, name)
	}
	if diff := gocmp.Diff([]string{"d", "b", "a"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
