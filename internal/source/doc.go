// SPDX-License-Identifier: Apache-2.0

// Package source keeps the ClusterRegoPolicy objects of a cluster in step with the Git
// repositories that PolicySource objects name: it fetches, loads, overrides,
// applies and prunes. Below it: git reads repositories, receiver takes messages of a
// push, access says what a source may use.
//
// A revision comes into force as a whole or not at all: whatever is wrong with one
// policy leaves those of the last good revision as they are. It must never write a
// policy that isn't the source's, and never take an empty or unreadable repository
// for the wish to remove everything. Every pass acts on what it observes; what is
// kept in memory only saves work.
//
// Start at Controller.Reconcile.
package source
