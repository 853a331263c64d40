// SPDX-License-Identifier: Apache-2.0

// Package surplus finds what came with a write beyond what was asked for: it makes the
// proof of what an object is to hold after a write, which is recorded before it, and
// compares the object with that proof later.
//
// It must never read or write a cluster, nor keep a Secret's value. Start at Expect.
package surplus
