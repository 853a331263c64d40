// SPDX-License-Identifier: Apache-2.0

// Package action turns what a policy proposes into writes that are bounded,
// guarded and reversible. Each action has a file: what it needs, what it refuses,
// and what it comes to. A patch is applied to a copy, the fields that change are
// found, and the guarded forward and inverse patches are built from them.
//
// It is pure: no client, no clock. It must never decide whether a write may be
// made. Start at Definitions and Steps.
package action
