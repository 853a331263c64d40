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
			Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Namespace"}}}},
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

// TestExplainSaysWhatTheManagerCantLookUp: the command line reads the cluster for itself, and may know more.
func TestExplainSaysWhatTheManagerCantLookUp(t *testing.T) {
	p := &v1alpha1.ClusterRegoPolicy{}
	for status, want := range map[metav1.ConditionStatus]string{
		"": "", metav1.ConditionTrue: "", metav1.ConditionFalse: "TooLarge: can't look up ConfigMap"} {
		if p.Status.Conditions = nil; status != "" {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReferencesKnown, Status: status,
				Reason: v1alpha1.ReasonTooLarge, Message: "can't look up ConfigMap"}}
		}
		if got := NotLookedUp(p); got != want {
			t.Errorf("%q: told is %q, want %q", status, got, want)
		}
	}
	e, d := &Explanation{Policies: []Verdict{{Policy: "p", Verdict: Clean, NotLookedUp: "TooLarge: x"}}}, &drawing{}
	e.drawPolicies(d)
	if drawn := strings.Join(d.lines, "\n"); !strings.Contains(drawn, "the manager doesn't evaluate it: TooLarge: x") {
		t.Errorf("it isn't drawn:\n%s", drawn)
	}
}
