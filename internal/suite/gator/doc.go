// SPDX-License-Identifier: Apache-2.0

// Package gator runs the test suites of Gatekeeper's gator (Suite of test.gatekeeper.sh) on
// Evenkeel's engine, so that a team keeps its tests: each ConstraintTemplate and constraint is
// migrated in memory, and what its policy finds is held against the suite's assertions. The meaning of
// the fields is that of gator verify of Gatekeeper v3.23.
//
// Start at Run.
package gator
