// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"os"
	"runtime/debug"
	"testing"
)

// enoughMemory lets the heap of the simulations, which is small, grow to some times what
// is in use before it is collected: a third of their time goes otherwise.
const enoughMemory = 400

func TestMain(m *testing.M) {
	debug.SetGCPercent(enoughMemory)
	os.Exit(m.Run())
}
