// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestABreakersNameSaysWhatItCovers(t *testing.T) {
	cases := map[string]struct {
		want    v1alpha1.BreakerScope
		covered string
		ok      bool
	}{
		"global": {v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}, "", true},
		"policy-tags": {v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: "tags"},
			"ClusterRegoPolicy tags", true},
		"namespace-shop": {v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: "shop"},
			"Namespace shop", true},
		"policy-":    {ok: false},
		"namespace-": {ok: false},
		"shop":       {ok: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scope, covered, ok := breakerScope(name)
			if ok != tc.ok || ok && scope != tc.want {
				t.Errorf("%+v, %t; want %+v, %t", scope, ok, tc.want, tc.ok)
			}
			got := ""
			if covered != nil {
				got = covered.Kind + " " + covered.Name
			}
			if got != tc.covered {
				t.Errorf("it needs %q, want %q", got, tc.covered)
			}
		})
	}
}
