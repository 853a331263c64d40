// SPDX-License-Identifier: Apache-2.0

// Package catalog holds the policies in force, compiled and indexed. Webhook,
// scan and remediation all judge by its snapshots, on every replica.
//
// A policy is compiled off the request path and swapped in whole. One that
// doesn't compile never takes effect: its last good revision stays in force, and
// if there is none, whatever it would concern gets an error as its verdict, never
// a silent pass. The package writes nothing to the cluster.
//
// A Waiver waives a policy's violations at the time of the request, and in
// the verdict itself: whoever asks gets the same answer, and none after its expiry.
//
// Start at Catalog and its Snapshot; Controller keeps the catalog in step with
// the policy and Waiver objects.
package catalog
