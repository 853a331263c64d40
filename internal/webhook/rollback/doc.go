// SPDX-License-Identifier: Apache-2.0

// Package rollback tells the manager's own undoing of a write from all else that is
// asked in its name: the content must be what a sealed record of a plan at work says
// was there before the write.
//
// It reads plans, slices and the key anew for each answer, and keeps only in which
// slice a target stands. It must never let a request pass that it can't prove. Start
// at Proof.
package rollback
