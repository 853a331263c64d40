// SPDX-License-Identifier: Apache-2.0

// Package scaffold writes the directory of a new policy: a small rule that works,
// with its tests and examples, and with comments that lead its author to change
// it. What it writes passes evenkeel test as it stands.
//
// It must never write over anything, and never leave half a policy behind. Start
// at New.
package scaffold
