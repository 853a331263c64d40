// SPDX-License-Identifier: Apache-2.0

// Package execute does what the machine of a rollout wants done with targets: it writes a
// batch, finds out what became of writes that a crash has left open, verifies and undoes
// them. No target may ever be written without a persisted record of the write, nor on
// state that wasn't read anew just before. What to do next is decided elsewhere. Start at
// Pass.Work.
package execute
