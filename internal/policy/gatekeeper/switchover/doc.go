// SPDX-License-Identifier: Apache-2.0

// Package switchover moves enforcement from a Gatekeeper that runs in a cluster to Evenkeel, constraint by constraint,
// and back: it reads Gatekeeper's objects, writes policies that only record, compares what both find, and hands
// enforcement over so that neither a run of it nor two at once take enforcement from both.
//
// All that it needs to go on after a crash stands in the cluster's objects. It never takes a write of somebody else's
// back, and never deletes anything. Start reading at Read, Compare and Handover.
package switchover
