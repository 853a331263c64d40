// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

func TestSupersededKinds(t *testing.T) {
	of := func(group, version, kind string) policy.GroupVersionKind {
		return policy.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	served, old := of("networking.k8s.io", "v1", "Ingress"), of("networking.k8s.io", "v1beta1", "Ingress")
	older := of("extensions", "v1beta1", "Ingress")
	for name, tc := range map[string]struct {
		reason string
		given  []policy.GroupVersionKind
		want   []policy.GroupVersionKind
	}{
		"beside one that is served": {"all that are removed", []policy.GroupVersionKind{served, old, older},
			[]policy.GroupVersionKind{old, older}},
		"none that is served": {"the rules would find nothing at all", []policy.GroupVersionKind{old, older}, nil},
		"beside another kind": {"that has nothing to do with it",
			[]policy.GroupVersionKind{old, of("apps", "v1", "Deployment")}, nil},
		"another kind of the version": {"the version has kinds that are served",
			[]policy.GroupVersionKind{of("networking.k8s.io", "v1beta1", "IPAddress"),
				of("networking.k8s.io", "v1", "IPAddress")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, facts.Superseded(tc.given)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
