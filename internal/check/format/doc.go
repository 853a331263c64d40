// SPDX-License-Identifier: Apache-2.0

// Package format writes a check.Report for people and for machines: a table, JSON
// and YAML, names, SARIF, JUnit and GitHub's workflow commands. Every format tells
// the same results in the same order, and none tells a value of a Secret.
//
// Start at Write.
package format
