// SPDX-License-Identifier: Apache-2.0

// Package fix fixes manifests in the files that they are written in, by the
// fixes that policies propose.
//
// A fix is taken only when it is proven as a rollout proves it, and no other policy
// finds anything new; what can't be fixed so is left, with the reason. All changes
// of a file are made and proved in memory before it is written, whole or not at all.
// It must never delete an object, and never touch a file that can't be read in full.
//
// Start at Run; Write puts a file in its place.
package fix
