// SPDX-License-Identifier: Apache-2.0

// Package rego compiles a policy's Rego and judges objects by it. It and its rooms are the
// only packages that import OPA: what they take and give are the terms of
// evenkeel.dev/evenkeel/internal/policy.
//
// A Compiled policy is a pure function of an Input: it reads no cluster, no
// network, no clock of its own and no random numbers, and the same input always
// gives the same decision, byte for byte. It must never panic into its caller,
// and it must never turn an evaluation error into a pass.
//
// Start at Compile, then Compiled.Evaluate.
package rego
