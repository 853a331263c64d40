// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
