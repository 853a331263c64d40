// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

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

// waitsFor is what the pending targets of a wave wait for that are tried again.
func (o Observation) waitsFor(m Members) string {
	for _, i := range m.later {
		if o.Targets[i].Reason != v1alpha1.ReasonUnobserved {
			return "waiting to try again after an API error"
		}
	}
	return fmt.Sprintf("%s %s for what rules reference (match.references) to be known, and as the plan has left it, "+
		"or for admission and the scan to be able to judge by it", prose.Count(len(m.later), "target"),
		prose.Verb(len(m.later), "waits", "wait"))
}
