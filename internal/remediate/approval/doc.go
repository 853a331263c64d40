// SPDX-License-Identifier: Apache-2.0

// Package approval reads what people have said of the plans that wait for them, and tells
// them what became of their answers.
//
// Who may answer is decided by canary.Refuse, at admission and again here. What a plan
// acts by is recorded in its own status: what becomes of an answer then changes nothing.
//
// Start at Reader.Read; Controller keeps the answers' own status.
package approval
