// SPDX-License-Identifier: Apache-2.0

// Package live migrates from a Gatekeeper that runs in a cluster: it reads Gatekeeper's objects, writes policies that
// only record, compares what both find, and reports who enforces each constraint. It writes no constraint: people move
// enforcement with kubectl (docs/migrate-from-gatekeeper.md).
//
// It never overwrites the changes of others, and never deletes anything. Start reading at Read, Compare and Applier.
package live
