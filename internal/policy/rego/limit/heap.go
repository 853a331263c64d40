// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"runtime"
	"runtime/metrics"
)

const (
	// maxGrowth is how much the heap may grow while a policy is evaluated, in bytes.
	// What rules hold without any built-in (comprehensions, sets) can't be counted.
	maxGrowth = 128 << 20
	// stepsBetweenLooks is how often the heap is looked at, in expressions: a look
	// takes a microsecond or two, that many expressions about a millisecond.
	stepsBetweenLooks = 1024
)

// heap watches the process's heap during an evaluation that takes long.
type heap struct {
	sample []metrics.Sample
	base   uint64
}

func (h *heap) size() uint64 {
	metrics.Read(h.sample)
	return h.sample[0].Value.Uint64()
}

// heapGrown says that what is alive on the heap has grown by too much since the
// first look. Garbage doesn't count: it is collected first.
func (w *Watch) heapGrown() bool {
	h := &w.heap
	if h.sample == nil {
		h.sample = []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		h.base = h.size()
		return false
	}
	if h.size() <= h.base+maxGrowth {
		return false
	}
	runtime.GC()
	alive := h.size()
	if alive > h.base+maxGrowth {
		return true
	}
	// The base was mostly garbage, if it was above what is alive now.
	h.base = min(h.base, alive)
	return false
}
