// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
)

// strategyRequest makes a strategy with a spec, as ann would; its metadata says who she is.
func strategyRequest(spec map[string]any, author string) *policy.Request {
	r := &policy.Request{Operation: policy.Create, Resource: "remediationstrategies", Name: "careful",
		Kind: policy.GroupVersionKind{Group: "evenkeel.dev", Version: "v1alpha1", Kind: "RemediationStrategy"},
		Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "RemediationStrategy",
			"spec": spec,
			"metadata": map[string]any{"name": "careful", "generation": int64(1), "annotations": map[string]any{
				v1alpha1.AnnotationAuthor:  author,
				v1alpha1.AnnotationAuthors: `{"users":["` + author + `"],"generation":1}`}}}}
	r.UserInfo.Username = "ann"
	return r
}

func TestStrategyHandler(t *testing.T) {
	cases := map[string]struct {
		reason  string
		request *policy.Request
		floors  limits.Floors
		// refused and warned are parts of what is said; empty for nothing.
		refused, warned string
	}{
		"a strategy that can be followed passes": {
			request: strategyRequest(map[string]any{"progressDeadline": "5m"}, "ann")},
		"one that can't be meant is refused, by its field": {
			request: strategyRequest(
				map[string]any{"windows": []any{map[string]any{"schedule": "0 0 30 2 *", "duration": "1h"}}}, "ann"),
			refused: "spec.windows[0]"},
		"steps that fall are refused": {
			request: strategyRequest(map[string]any{"steps": []any{map[string]any{"targets": "50%"},
				map[string]any{"targets": "5%"}}}, "ann"), refused: "spec.steps[1].targets"},
		"old names are refused, though the schema was away": {
			request: strategyRequest(map[string]any{"waves": []any{"5%", "100%"}}, "ann"),
			refused: "spec.waves: it is gone"},
		"one in another's name is refused": {
			reason:  "who is its author decides who may approve",
			request: strategyRequest(map[string]any{"progressDeadline": "5m"}, "bob"),
			refused: "doesn't hold who makes this request"},
		"what isn't of its kind's form is refused": {
			request: strategyRequest(map[string]any{"progressDeadline": 5.5}, "ann"),
			refused: "isn't of the form evenkeel.dev/v1alpha1"},
		"whoever asks for more than the administrator allows is told": {
			request: strategyRequest(map[string]any{"steps": []any{map[string]any{"targets": int64(1), "soak": "1s"}}},
				"ann"), floors: limits.Floors{MinSoak: time.Minute},
			warned: "spec.soak: the policy asks for 1s, the administrator allows 1m0s (--remediation-min-soak)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &StrategyHandler{Floors: tc.floors}
			resp := h.answer(t.Context(), tc.request)
			said := ""
			if resp.Status != nil {
				said = resp.Status.Message
			}
			if resp.Allowed != (tc.refused == "") || !strings.Contains(said, tc.refused) {
				t.Errorf("%s: allowed %t: %s, want %q", tc.reason, resp.Allowed, said, tc.refused)
			}
			if got := strings.Join(resp.Warnings, "\n"); (got == "") != (tc.warned == "") ||
				!strings.Contains(got, tc.warned) {
				t.Errorf("warned %q, want %q", got, tc.warned)
			}
		})
	}
	kept := strategyRequest(map[string]any{"maxTargets": int64(0)}, "ann")
	kept.Operation, kept.OldObject = policy.Update, kept.Object
	if resp := (&StrategyHandler{}).answer(t.Context(), kept); !resp.Allowed {
		t.Errorf("labels of a strategy that can't be followed any more can't be changed: %s", resp.Status.Message)
	}
}

// TestAPolicyIsToldOfItsStrategy: a reference may be applied before what it names, but
// nobody should be surprised that nothing is remediated meanwhile.
func TestAPolicyIsToldOfItsStrategy(t *testing.T) {
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "careful"}
	known := map[string]*v1alpha1.RemediationStrategy{}
	h := &PolicyHandler{Floors: limits.Floors{MaxInFlight: 2},
		Strategy: func(name string) *v1alpha1.RemediationStrategy { return known[name] }}
	if got := h.strategyWarnings(p); len(got) != 1 ||
		!strings.Contains(got[0], `there is no RemediationStrategy "careful", so nothing is remediated`) {
		t.Errorf("warned %q", got)
	}
	known["careful"] = &v1alpha1.RemediationStrategy{Spec: v1alpha1.RemediationStrategySpec{
		MaxInFlight: ptr.To(intstr.FromInt32(9))}}
	known["careful"].Name = "careful"
	if got := h.strategyWarnings(p); len(got) != 1 ||
		got[0] != "spec.remediation.strategyRef: maxInFlight: the policy "+
			"asks for 9, "+
			"the administrator allows 2 (--remediation-max-in-flight)" {
		t.Errorf("warned %q", got)
	}
	p.Spec.Remediation.Mode = v1alpha1.RemediationDisabled
	if got := h.strategyWarnings(p); got != nil {
		t.Errorf("warned %q of what is switched off", got)
	}
}
