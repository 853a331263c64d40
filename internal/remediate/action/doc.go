// Package action turns what a policy proposes into a write that is bounded,
// guarded and reversible: it applies a patch to a copy, finds the fields that
// change, and builds the guarded forward and inverse patches.
//
// It is pure: no client, no clock. It must never decide whether a write may be
// made. Start at Apply and Diff.
package action
