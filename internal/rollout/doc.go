// SPDX-License-Identifier: Apache-2.0

// Package rollout is the machine that a plan goes through: from what was observed just
// now it decides what is to be done next, canary first, in verified waves, and undone
// where it does harm.
//
// It is pure. It imports no client, reads no clock and keeps nothing: Step maps an
// Observation to an Intent, so that the same facts give the same rollout in a table, in a
// simulated fleet, after a restart and on another replica.
//
// Start at Table, which has a row for each phase, and at Step.
package rollout
