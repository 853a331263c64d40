// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

func TestExplainNamesTheStrategyOfAPolicy(t *testing.T) {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.RegoPolicySpec{
		Rego: v1alpha1.RegoSource{Main: "package p\n\ndeny contains \"x\"\n"},
		Match: v1alpha1.Match{
			Resources: []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"Namespace"}}}},
	}}
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "careful"}
	object := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}}
	c := catalog.New(catalog.Options{})
	if err := c.Set(p); err != nil {
		t.Fatal(err)
	}
	explained := func() (Verdict, string) {
		e := &Explanation{}
		e.judge(t.Context(), c.Snapshot(), object, nil, time.Unix(1_700_000_000, 0))
		if len(e.Policies) != 1 {
			t.Fatalf("verdicts %+v, want one", e.Policies)
		}
		d := &drawing{}
		e.drawPolicies(d)
		return e.Policies[0], strings.Join(d.lines, "\n")
	}
	v, drawn := explained()
	if v.Strategy != "careful" || v.Mode != v1alpha1.RemediationDisabled ||
		!strings.Contains(v.Unresolved, `no RemediationStrategy "careful"`) {
		t.Errorf("without the strategy: %+v", v)
	}
	if !strings.Contains(drawn, "strategy: careful") {
		t.Errorf("it isn't drawn:\n%s", drawn)
	}
	if err := c.SetStrategy(&v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}}); err != nil {
		t.Fatal(err)
	}
	if v, _ := explained(); v.Strategy != "careful" || v.Mode != v1alpha1.RemediationAutomatic || v.Unresolved != "" {
		t.Errorf("with the strategy: %+v", v)
	}
}
