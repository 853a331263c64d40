// SPDX-License-Identifier: Apache-2.0

package serving

// Cost is what is reserved for a text that fits.
var Cost = cost

// DensestText is what is reserved for each byte of a text that has not arrived.
const DensestText = densestText

// Idle reports that nothing is reserved.
func (r *Reader) Idle() bool {
	if !r.small.TryAcquire(r.smallBytes) {
		return false
	}
	r.small.Release(r.smallBytes)
	if !r.large.TryAcquire(r.largeBytes) {
		return false
	}
	r.large.Release(r.largeBytes)
	return true
}
