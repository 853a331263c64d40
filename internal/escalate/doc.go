// Package escalate tells people what Evenkeel did and where it needs them. In
// this version it records events.k8s.io/v1 events, on transitions only, with
// fixed CamelCase reasons. It must never decide anything, nor fail a reconcile.
//
// Start at Recorder.
package escalate
