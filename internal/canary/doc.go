// SPDX-License-Identifier: Apache-2.0

// Package canary holds the arithmetic of a careful rollout: how many targets
// each wave takes (Sizes), who comes first (Order), how many may be in flight
// (RoomFor), whether a maintenance window is open (WindowState), and what a metric
// says of a wave (NextMetric).
//
// Every function is pure: it takes the time as an argument and returns a value.
// The package must never hold a client, read a clock, draw a random number or
// change its arguments, so that the same facts give the same rollout in a test,
// after a restart and on another replica.
//
// Start reading at Sizes. The circuit breaker is internal/breaker/circuit.
package canary
