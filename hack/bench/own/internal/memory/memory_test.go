// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"runtime/debug"
	"testing"
)

func TestTheMostIsThatSinceItWasForgotten(t *testing.T) {
	const size = 64 << 20
	held := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		held[i] = 1
	}
	with, most, err := Resident()
	if err != nil || with < size || most < with {
		t.Fatalf("%d resident, %d at most, %v", with, most, err)
	}
	clear(held[:1])
	held = nil
	debug.FreeOSMemory()
	if err := Forget(); err != nil {
		t.Fatal(err)
	}
	if now, most, err := Resident(); err != nil || now > with-size/2 || most > with-size/2 {
		t.Errorf("%d resident, %d at most, %v; there were %d with %d that are gone", now, most, err, with, size)
	}
}
