// SPDX-License-Identifier: Apache-2.0

// Package record keeps what is known of each target of a plan, in the plan's slices: what
// was written and what it was before, so that it can be undone after any crash.
//
// Records are read and stored whole, under the resource version that they were read with;
// what undoing needs is never left out for want of room. The package decides nothing of a
// rollout, and writes to no target.
//
// Start at Records; Cache reads them without fetching slices again that haven't changed.
package record
