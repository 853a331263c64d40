// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"sync"
	"sync/atomic"

	"evenkeel.dev/evenkeel/internal/policy"
)

// mostAlone is for how many policies an input is converted apart, each time with no more than that policy reads. Few
// have to be evaluated where the verdicts of the others are reused; for more, what all share is cheaper.
const mostAlone = 3

// conversion says what became of the input that all policies share.
type conversion struct {
	// made says that it was converted, and alone for how many policies it was converted apart.
	made  atomic.Bool
	alone atomic.Int32
	// rate is that of requests for the same policies.
	rate *reuseRate
	// settled is done once the keys of all that it holds are in order for good.
	settled sync.Once
}

// reuseRate counts how often the verdicts of a group of policies were asked for, and how often they weren't reused. The
// latest ones count most. Its methods may be called on nil.
type reuseRate struct {
	policies    int64
	asked, anew atomic.Int64
}

const (
	// enoughAsked verdicts tell how often they are reused, and about mostAsked are counted.
	enoughAsked, mostAsked = 1 << 10, 1 << 14
)

func (r *reuseRate) note(reused bool) {
	if r == nil {
		return
	}
	if !reused {
		r.anew.Add(1)
	}
	if asked := r.asked.Add(1); asked == mostAsked { // one of those who ask at once finds this
		r.asked.Add(-mostAsked / 2)
		r.anew.Add(-r.anew.Load() / 2)
	}
}

// many says that as a rule more policies have to be evaluated than an input is converted apart for.
func (r *reuseRate) many() bool {
	if r == nil {
		return false
	}
	asked := r.asked.Load()
	return asked >= enoughAsked && r.anew.Load()*r.policies > mostAlone*asked
}

// converting converts what all policies share.
func (in *Input) converting(r *policy.Request, read Read) func() (*sharedTerms, error) {
	return sync.OnceValues(func() (*sharedTerms, error) {
		in.conversion.made.Store(true)
		return sharedDocuments(r, read)
	})
}

// forOne is the input to evaluate one policy with: the one that all share, once it has been converted, or mostAlone
// policies had one of their own or more would have, judging by other requests; until then one that holds no more than
// the policy reads.
func (in *Input) forOne(c *Compiled) *Input {
	if c.clean == nil || in.request == nil {
		return in
	}
	in.conversion.rate.note(false)
	if in.conversion.made.Load() || in.conversion.rate.many() || in.conversion.alone.Add(1) > mostAlone {
		return in
	}
	own := *in
	read := c.readOf(in.kind)
	own.shared = sync.OnceValues(func() (*sharedTerms, error) { return sharedDocuments(in.request, read) })
	own.sizes = sync.OnceValues(own.weighed)
	return &own
}

// readings are what one policy reads of an input for an object of each kind. They are safe for concurrent use.
type readings struct {
	mu    sync.Mutex
	known map[readingFor]Read
}

// readingFor is a kind, and whether the policy was written for Gatekeeper.
type readingFor struct {
	kind       policy.GroupKind
	gatekeeper bool
}

// mostReadings bounds for how many kinds that is kept.
const mostReadings = 64

// readOf is what the policy reads of an input for an object of a kind.
func (c *Compiled) readOf(kind policy.GroupKind) Read {
	r := &c.shared.readings
	r.mu.Lock()
	defer r.mu.Unlock()
	key := readingFor{kind, c.Gatekeepers()}
	read, known := r.known[key]
	if !known {
		read = ReadBy(kind, c)
		if r.known == nil || len(r.known) >= mostReadings {
			r.known = map[readingFor]Read{}
		}
		r.known[key] = read
	}
	return read
}
