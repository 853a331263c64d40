// SPDX-License-Identifier: Apache-2.0

// Package diagnose looks at an installation of Evenkeel from outside, through the
// API server, and says of each part whether it is as it should be and what to do if
// it isn't. It changes nothing: what it asks admission is a dry run.
//
// What couldn't be looked at is never reported as fine: it isn't known, or, where it is shown otherwise to whoever may
// not look at it, skipped. Whoever has the ClusterRole evenkeel-operator is told all that matters to them. Start at
// Run; checks is the table of all checks.
package diagnose
