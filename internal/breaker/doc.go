// SPDX-License-Identifier: Apache-2.0

// Package breaker asks and feeds the circuit breakers, which stop writes where they do
// harm: over everything, for a policy, in a namespace.
//
// What a breaker knows is in its status alone, and each write of it fails when somebody
// else has written it since. A breaker that can't be read lets nothing through. What an
// event makes of a status is decided by package circuit. The package writes to no target.
//
// Start at Set: Admit asks, right before a write, and Record counts what came of it.
package breaker
