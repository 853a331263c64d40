// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestABreakerOfOneNamespaceSaysWhichIsKeptBack(t *testing.T) {
	opened := v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerOpen, Reason: "CanaryFailed",
		Message: "The canary failed."}
	inShop := v1alpha1.RemediationBreakerSpec{
		Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: "shop"}}
	cases := map[string]struct {
		reason    string
		alone     bool
		spec      v1alpha1.RemediationBreakerSpec
		only      string
		closed    bool
		want, not string
	}{
		"the namespace's own breaker": {
			spec: inShop, want: "namespace shop alone is kept back: b is Open (CanaryFailed): The canary failed.",
			not: "breaker    b is Open"},
		"the policy's, open for one namespace": {
			spec: v1alpha1.RemediationBreakerSpec{
				Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: "no-privilege"}}, only: "shop",
			want: "namespace shop alone is kept back: b is Open"},
		"the policy's, open for all": {
			spec: v1alpha1.RemediationBreakerSpec{
				Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: "no-privilege"}},
			want: "b is Open (CanaryFailed)", not: "kept back"},
		"the policy's, held open by a person": {reason: "it was open for one namespace before",
			spec: v1alpha1.RemediationBreakerSpec{
				Mode:  v1alpha1.BreakerForcedOpen,
				Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: "no-privilege"}}, only: "shop",
			want: "b is held open by a person", not: "kept back"},
		"a plan that has nothing elsewhere": {alone: true, spec: inShop, want: "b is Open (CanaryFailed)",
			not: "kept back"},
		"a closed breaker": {spec: inShop, closed: true, want: "b is Closed", not: "kept back"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := fleet(1, 3)
			if !tc.alone {
				r.Slices[0].Targets[3].Object.Namespace = "bank"
			}
			cb := v1alpha1.RemediationBreaker{Spec: tc.spec, Status: opened}
			cb.Name, cb.Status.OnlyNamespace = "b", tc.only
			if tc.closed {
				cb.Status = v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed}
			}
			r.Breakers = []v1alpha1.RemediationBreaker{cb}
			got := strings.Join(r.Draw(display.Style{}), "\n")
			if !strings.Contains(got, tc.want) || tc.not != "" && strings.Contains(got, tc.not) {
				t.Errorf("%s: want %q and no %q in\n%s", tc.reason, tc.want, tc.not, got)
			}
		})
	}
}

// A plan remembers so many acts of people: where the list is full, it says that it may not be whole.
func TestEarlierRequestsThatMayBeForgottenAreTold(t *testing.T) {
	for n, told := range map[int]bool{v1alpha1.MaxRequests - 1: false, v1alpha1.MaxRequests: true} {
		r := fleet(1)
		recorded.Requests(r.Remediation, slices.Repeat([]v1alpha1.RequestRecord{
			{User: "ann", Action: v1alpha1.ActionPause}}, n)...)
		drawn := strings.Join(r.Draw(display.Style{}), "\n")
		if got := strings.Contains(drawn, "  only the latest 10 are kept; earlier ones"); got != told {
			t.Errorf("of %d requests it tells that others may be forgotten: %t\n%s", n, got, drawn)
		}
	}
}
