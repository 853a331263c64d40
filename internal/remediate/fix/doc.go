// SPDX-License-Identifier: Apache-2.0

// Package fix computes the fix of one object, proves it and writes it: from a fresh read
// through every policy and a server-side dry run to the write itself, and back to what was
// there before. It knows nothing of plans at work: package execute calls it for a batch of
// targets, and keeps its records. Nothing may be sent that no check of the protocol has
// passed. Start at Attempt.Prepare.
package fix
