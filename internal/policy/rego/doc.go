// Package rego compiles a policy's Rego and judges objects by it. It is the only
// package that imports OPA: what it takes and gives are the terms of
// evenkeel.dev/evenkeel/internal/policy.
//
// A Compiled policy is a pure function of an Input: it reads no cluster, no
// network, no clock of its own and no random numbers, and the same input always
// gives the same decision, byte for byte. It must never panic into its caller,
// and it must never turn an evaluation error into a pass.
//
// Start at Compile, then Compiled.Evaluate.
package rego
