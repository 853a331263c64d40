// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
)

const (
	// reserved is the share of a request's time, as a divisor, that is kept for the
	// policies that are still to be asked.
	reserved = 4
	// leastTime is what a policy gets when nothing is left.
	leastTime = time.Millisecond
)

// budget shares out the time that there is for a request: a policy may use up all
// but what is kept for those after it, and never more than the limit of one policy.
// Without a deadline that limit is all there is.
type budget struct {
	limit    time.Duration
	total    time.Duration
	deadline time.Time
	policies int
}

func (s *Snapshot) budget(ctx context.Context, r *policy.Request, policies int) budget {
	b := budget{limit: s.limit, policies: policies}
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return b
	}
	b.deadline = deadline
	b.total = max(deadline.Sub(s.clock.Now()), leastTime)
	if r.Operation == policy.Update {
		// The object as it was before is judged too, where there is anything to compare.
		kept := b.total / reserved
		b.total -= kept
		b.deadline = deadline.Add(-kept)
	}
	return b
}

func (b budget) share(now time.Time, after int) time.Duration {
	if b.deadline.IsZero() {
		return b.limit
	}
	kept := b.total / reserved * time.Duration(after) / time.Duration(b.policies)
	return max(min(b.limit, b.deadline.Sub(now)-kept), leastTime)
}

// half is for a policy that is asked once more, when it isn't known how many others
// will be.
func (s *Snapshot) half(ctx context.Context) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return s.limit
	}
	return max(min(s.limit, deadline.Sub(s.clock.Now())/2), leastTime)
}
