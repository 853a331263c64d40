// SPDX-License-Identifier: Apache-2.0

// Package authors keeps who has written a policy: every user who has changed its spec
// since it was made, whatever the change. The record lies in an annotation that
// admission alone sets.
//
// It is pure. A record must never forget anybody: one that can't hold a further user,
// or that a change has got past, says that somebody isn't named, and counts for those
// who aren't as if they were everybody. Start at Record.
package authors
