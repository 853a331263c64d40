// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/scan/listing"
)

func TestResyncIsSpreadByHash(t *testing.T) {
	s := &Scanner{opts: Options{}.withDefaults()}
	seen := map[time.Duration]bool{}
	for _, kind := range []string{"Pod", "ConfigMap", "Secret", "Service"} {
		spread := func() time.Duration { return listing.Spread(s.opts.ResyncPeriod, kind) }
		d := spread()
		if d < 9*time.Minute || d > 11*time.Minute || d != spread() {
			t.Errorf("%s is listed anew after %v, want the same within a tenth of 10m each time", kind, d)
		}
		seen[d] = true
	}
	if len(seen) != 4 {
		t.Errorf("4 kinds have %d different periods", len(seen))
	}
}
