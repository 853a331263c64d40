// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestChangesCoalesceAndNeverBlock(t *testing.T) {
	var f fanout
	slow, idle := f.subscribe(), f.subscribe()
	for range 1000 {
		f.notify("b", "a")
	}
	f.run(t.Context())
	late := f.subscribe()
	got := []string{(<-slow).Object.GetName(), (<-slow).Object.GetName()}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("2,000 changes of two policies (-want +got):\n%s", diff)
	}
	f.notify("c")
	for name, ch := range map[string]<-chan event.GenericEvent{"slow": slow, "late": late} {
		if got := (<-ch).Object.GetName(); got != "c" {
			t.Errorf("the %s subscriber got %q, want c once", name, got)
		}
	}
	if got := (<-idle).Object.GetName(); got != "a" {
		t.Errorf("a subscriber that didn't read yet gets %q, want a", got)
	}
}
