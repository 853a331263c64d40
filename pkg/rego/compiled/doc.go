// SPDX-License-Identifier: Apache-2.0

// Package compiled is an engine for Rego: it takes OPA's intermediate representation of a
// policy and turns it once into Go closures over a flat frame of registers. What it gives is
// what OPA's own engine, topdown, gives of the same policy and input; built-in functions are
// OPA's. It knows nothing of Kubernetes, and nothing of what the rules mean.
//
// Start at Compile and Program.Rule; docs/decisions/compiled-rego.md says how a statement
// becomes a closure.
package compiled
