// SPDX-License-Identifier: Apache-2.0

// Package check judges many objects at once by the policies of one
// catalog.Snapshot, with the webhook's own evaluation: what it finds in a manifest
// is what admission would find in it.
//
// It reads no file and no cluster, and decides nothing about exit codes. What
// couldn't be judged is in the report as an error; it is never a pass.
//
// Start at Run. What is written of a Report is in its child, format.
package check
