// SPDX-License-Identifier: Apache-2.0

// Package directory reads policies from a directory of Rego files: the METADATA of
// each policy says what its policy object holds, and the modules that it imports
// go with it. Objects of kind RemediationStrategy are read from the YAML files beside
// them. The result is a pure function of the files.
//
// It reads strictly and as a whole: either every policy is good, or Load gives
// all that is wrong, each with its file, its line and what to do. It must never
// guess at a key that it doesn't know, and never leave out a policy in silence.
//
// Start at Load.
package directory
