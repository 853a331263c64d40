// SPDX-License-Identifier: Apache-2.0

package engines

import "context"

// Drain compares all that waits, as Start does until ctx ends.
func (c *Comparer) Drain(ctx context.Context) {
	for {
		select {
		case e := <-c.queue:
			c.one(ctx, &e)
		default:
			return
		}
	}
}
