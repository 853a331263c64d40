// SPDX-License-Identifier: Apache-2.0

package rollout

import "time"

// How often a plan looks again at what it waits for, unless Observation.PollInterval asks for
// more.
const (
	// holdPoll is how often a held plan looks whether it may go on.
	holdPoll = 5 * time.Second
	// heldLooks is what a look of a held plan counts for: many may be held at once, and for
	// long, so that none looks more often than once a second.
	heldLooks = int(time.Second / readEvery)
	// roomPoll is how often a plan looks whether a budget has room again.
	roomPoll = 3 * time.Second
	// claimPoll is how often a plan looks whether another is done with an object.
	claimPoll = time.Second
	// verifyPoll is how often targets that aren't verified yet are looked at.
	verifyPoll = time.Second
	// soakPoll is how often soaking targets are looked at, at the least; a large
	// wave is looked at less often (see soakWait).
	soakPoll = 2 * time.Second
)

// readEvery spreads reads that are asked for more often than usual, and those of a large
// wave: at most 50 objects a second.
const readEvery = 20 * time.Millisecond

// poll is how long to wait until looking again at so many objects.
func (o Observation) poll(usual time.Duration, objects int) time.Duration {
	if o.PollInterval <= 0 {
		return usual
	}
	return min(usual, max(o.PollInterval, time.Duration(objects)*readEvery))
}
