// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

func TestResyncIsSpreadByHash(t *testing.T) {
	s := &Scanner{opts: Options{}.withDefaults()}
	seen := map[time.Duration]bool{}
	for _, kind := range []string{"Pod", "ConfigMap", "Secret", "Service"} {
		k := &kindScan{kind: schema.GroupKind{Kind: kind}, scanner: s}
		d := k.resyncAfter()
		if d < 9*time.Minute || d > 11*time.Minute || d != k.resyncAfter() {
			t.Errorf("%s is listed anew after %v, want the same within a tenth of 10m each time", kind, d)
		}
		seen[d] = true
	}
	if len(seen) != 4 {
		t.Errorf("4 kinds have %d different periods", len(seen))
	}
}
