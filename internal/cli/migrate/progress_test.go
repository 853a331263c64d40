// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"io"
	"testing"

	"evenkeel.dev/evenkeel/internal/scan/listing"
)

func TestAComparisonTellsItsProgressToWhoeverListens(t *testing.T) {
	for name, tc := range map[string]struct {
		stderr io.Writer
		want   bool
	}{"compare": {io.Discard, true}, "nobody listens": {nil, false}} {
		t.Run(name, func(t *testing.T) {
			walk := &listing.Walk{}
			(&estate{stderr: tc.stderr}).tells(walk)()
			if (walk.Progress != nil) != tc.want {
				t.Errorf("its progress is told: %t", walk.Progress != nil)
			}
		})
	}
}
