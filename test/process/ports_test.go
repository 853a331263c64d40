// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"slices"
	"testing"

	"evenkeel.dev/evenkeel/test/process"
)

// A port is chosen once, though nobody listens on it yet.
func TestNoPortIsChosenTwice(t *testing.T) {
	t.Parallel()
	var ports []int
	for range 500 {
		two, err := process.FreePorts(2)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, two...)
	}
	slices.Sort(ports)
	if distinct := slices.Compact(slices.Clone(ports)); len(distinct) != len(ports) {
		t.Errorf("%d ports, of which %d are distinct", len(ports), len(distinct))
	}
}
