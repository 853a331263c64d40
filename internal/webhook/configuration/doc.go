// SPDX-License-Identifier: Apache-2.0

// Package configuration keeps the webhook configurations of the cluster in step with the
// policies in force: what the API server asks about, whom it asks and whom it trusts.
//
// What others add that only narrows an entry is kept and reported, so that two controllers
// don't fight for ever; all else is restored, ever more slowly while it goes on changing. It
// must never have the API server ask where no server answers, never let an addition widen
// what an entry is called for, and never keep one that would let a user's name go unstamped.
// Start reading at Writer, then Generator (what is to be there) and addedTo (what others added).
package configuration
