// SPDX-License-Identifier: Apache-2.0

// Package circuit is the state of a circuit breaker: what a failure, a success, a storm of
// violations, a spent error budget or the time makes of its status (Next, Storm, Burn,
// Tick), and whether it lets a plan write (Admit).
//
// Every function is pure: it takes the time as an argument and returns a new status.
//
// Start at Next and at Admit.
package circuit
