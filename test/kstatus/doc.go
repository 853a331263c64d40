// SPDX-License-Identifier: Apache-2.0

// Package kstatus holds the states of Evenkeel's kinds against what kstatus, the library
// by which Flux and kubectl plugins wait, makes of them, and against the tables of
// docs/reference/conditions.md. It decides nothing. Start at Table.
package kstatus
