// SPDX-License-Identifier: Apache-2.0

package serving

import "testing"

func TestThePoolsShareTheMemory(t *testing.T) {
	for memory, longest := range map[int64]int64{64 << 20: 10 << 20, 256 << 20: maxBody, 1<<30 + 7: maxBody} {
		judged, own := NewReaders(memory)
		var all int64
		for _, r := range []*Reader{judged, own} {
			all += r.arriving.size + r.small.size + r.large.size
			if r.longest > r.arriving.size || textCost*r.longest > r.large.size {
				t.Errorf("of %d bytes: a text of %d doesn't fit %d while it arrives, or %d then", memory, r.longest,
					r.arriving.size, r.large.size)
			}
		}
		if all != memory || judged.longest != longest {
			t.Errorf("of %d bytes: the pools take %d, and %d bytes of a review are read", memory, all, judged.longest)
		}
	}
}
