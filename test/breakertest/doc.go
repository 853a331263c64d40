// SPDX-License-Identifier: Apache-2.0

// Package breakertest keeps circuit breakers in memory, with a policy in force, for tests.
package breakertest
