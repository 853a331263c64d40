// SPDX-License-Identifier: Apache-2.0

// Package display draws a rollout for a terminal: its waves, targets, gates and
// breakers, the next step and why it waits. It only reads API objects that its
// caller has fetched, and must never ask a cluster or decide anything. Start at
// Rollout.
package display
