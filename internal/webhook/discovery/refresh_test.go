// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/webhook/discovery"
)

// TestARefreshForgetsNothing has an aggregated API not answer for a moment, which is told as an API without kinds.
func TestARefreshForgetsNothing(t *testing.T) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	serves := []string{"Widget"}
	kinds := discovery.NewKinds(func() (meta.RESTMapper, error) {
		m := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
		for _, kind := range serves {
			m.Add(gv.WithKind(kind), meta.RESTScopeNamespace)
		}
		return m, nil
	})
	resolves := func(when, kind string, want bool) {
		t.Helper()
		r, err := kinds.Resolve("example.com", kind)
		if want != (err == nil) || err != nil && !errors.Is(err, discovery.ErrUnknownKind) {
			t.Errorf("%s: %s is %+v, %v; want it found: %t", when, kind, r, err, want)
		}
	}
	resolves("at first", "Widget", true)
	resolves("at first", "Gadget", false)
	serves = []string{"Gadget"}
	resolves("what was found is kept", "Gadget", false)
	kinds.Refresh()
	resolves("it is asked anew", "Gadget", true)
	resolves("it was known", "Widget", true)
	kinds.Reset()
	resolves("a definition has changed", "Widget", false)
}
