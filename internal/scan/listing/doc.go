// SPDX-License-Identifier: Apache-2.0

// Package listing reads the objects that policies concern: which kinds those are, one walk
// over all of them page by page, the list and watch of one kind for a reflector, and what to
// tell people when a kind can't be read.
//
// It judges nothing and writes nothing, and it must never hold more than a page of objects.
// Start reading at Walk (everything once) and ListWatch (one kind, for good).
package listing
