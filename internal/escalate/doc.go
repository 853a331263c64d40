// SPDX-License-Identifier: Apache-2.0

// Package escalate tells people what Evenkeel did and where it needs them:
// events.k8s.io/v1 events on transitions, and alerts while something waits for a
// person. Alerts are derived from the objects at each tick, so that a restart
// needs no memory; they go to every Alertmanager peer, and to the metrics, from
// which Prometheus can raise the same. It must never decide anything about a
// rollout, hold one up, nor fail its reconcile.
//
// Start at Recorder for events, and at Alerts and Controller for alerts.
package escalate
