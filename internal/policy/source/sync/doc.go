// Package sync keeps the ClusterRegoPolicy objects of a cluster in step with the Git
// repositories that PolicySource objects name: it fetches, loads, overrides,
// applies and prunes, and takes messages of a push.
//
// A revision comes into force as a whole or not at all: whatever is wrong with one
// policy leaves those of the last good revision as they are. It must never write a
// policy that isn't the source's, and never take an empty or unreadable repository
// for the wish to remove everything. Every pass acts on what it observes; what is
// kept in memory only saves work.
//
// Start at Controller.Reconcile.
package sync
