// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

func TestDescribe(t *testing.T) {
	cases := map[string]struct {
		request policy.Request
		want    string
	}{
		"a namespaced object": {
			policy.Request{Kind: policy.GroupVersionKind{Kind: "Pod"}, Namespace: "shop", Name: "web"}, "Pod shop/web"},
		"a cluster-scoped object": {
			policy.Request{Kind: policy.GroupVersionKind{Kind: "Namespace"}, Name: "shop"}, "Namespace shop"},
		"an object whose name is to be made": {
			policy.Request{Kind: policy.GroupVersionKind{Kind: "Pod"}, Namespace: "shop",
				Object: map[string]any{"metadata": map[string]any{"generateName": "web-"}}}, "Pod shop/web-*"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Describe(&tc.request); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
