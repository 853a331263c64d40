// SPDX-License-Identifier: Apache-2.0

// Package index keeps the verdicts of the scan: for every policy, which objects violate it,
// how many there are, and how far that can be trusted. It holds verdicts and no object, so
// that its size goes with what violates.
//
// It must never show a figure as complete that isn't, and it reads nothing of a cluster: the
// scanner alone writes to it. Start reading at Index.
package index
