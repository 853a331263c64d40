// SPDX-License-Identifier: Apache-2.0

// Package contest says what becomes of changes that others make to the webhook
// configurations: what only narrows an entry is kept, so that two controllers don't
// fight for ever, and all else is restored, ever more slowly while it goes on.
//
// It must never let an addition widen what an entry is called for, and never keep
// one that would let a user's name go unstamped. Start reading at Added.
package contest
