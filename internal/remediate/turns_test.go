// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
)

func TestTurns(t *testing.T) {
	var all turns
	first, err := all.take(t.Context(), "plan-1")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all.take(ended, "plan-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a turn that is taken is given once more: %v", err)
	}
	other, err := all.take(ended, "plan-2")
	if err == nil {
		other()
	}
	first()
	again, err := all.take(t.Context(), "plan-1")
	if err != nil {
		t.Fatal(err)
	}
	again()
	if left := slices.Collect(maps.Keys(all.plans)); len(left) > 0 {
		t.Errorf("turns of %v are kept for ever", left)
	}
}
