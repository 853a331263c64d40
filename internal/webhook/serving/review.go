// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Reason says why the objects of a review weren't read.
type Reason string

// The reasons; they are values of a metric's label.
const (
	// TooLarge: the review has more bytes than are read.
	TooLarge Reason = "too_large"
	// TooMany: the objects hold more values than there is memory for.
	TooMany Reason = "too_many_values"
	// Undecodable: an object isn't one.
	Undecodable Reason = "undecodable"
	// Busy: there was no room in time. The same request may be judged a moment later.
	Busy Reason = "busy"
	// Incomplete: the review didn't arrive whole in time.
	Incomplete Reason = "incomplete"
)

// Reasons are all of them.
func Reasons() []Reason {
	return []Reason{TooLarge, TooMany, Undecodable, Busy, Incomplete}
}

// Passing says that the same request may well be judged a moment later.
func (r Reason) Passing() bool { return r == Busy || r == Incomplete }

// Unread says why the objects of a review weren't read. It is an error.
type Unread struct {
	Reason Reason
	text   string
}

func unread(reason Reason, format string, args ...any) *Unread {
	return &Unread{Reason: reason, text: fmt.Sprintf(format, args...)}
}

func (u *Unread) Error() string { return u.text }

// Review is what a request to a webhook asks.
type Review struct {
	*policy.Request
	// Unread says why the objects aren't decoded; nil when they are. The request is
	// Partial then.
	Unread *Unread

	release func()
}

// FieldManager is the field manager of the request that is reviewed.
func (r *Review) FieldManager() string {
	name, _ := r.Options["fieldManager"].(string)
	return name
}

// Done releases the memory that was reserved. The caller of Read calls it once, when the answer is made.
func (r *Review) Done() { r.release() }

func (r *Review) without(why *Unread) *Review {
	r.Object, r.OldObject, r.Unread, r.Partial = nil, nil, why, true
	return r
}
