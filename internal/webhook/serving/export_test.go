// SPDX-License-Identifier: Apache-2.0

package serving

// Cost is what is reserved for a text that fits.
var Cost = cost

// DecodeWith replaces the decoder.
func (r *Reader) DecodeWith(decode func([]byte, *Unread) (*Review, error)) { r.decode = decode }

// Waiting reports that a review waits for memory.
func (r *Reader) Waiting() bool {
	return !r.arriving.TryAcquire(0) || !r.small.TryAcquire(0) || !r.large.TryAcquire(0)
}

// Idle reports that nothing is reserved.
func (r *Reader) Idle() bool {
	for _, p := range []pool{r.arriving, r.small, r.large} {
		if !p.TryAcquire(p.size) {
			return false
		}
		p.Release(p.size)
	}
	return true
}
