// SPDX-License-Identifier: Apache-2.0

// Package unittest runs the unit tests that are written in Rego, and says which rows they
// reach. Modules are held to the same rules as those of a policy in force.
//
// Start at Run.
package unittest
