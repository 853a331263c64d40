// SPDX-License-Identifier: Apache-2.0

// Package override says what a PolicyOverride makes of its policy at a given time, and tells
// people so in the status of both, in events and in a metric.
//
// An override ends by the clock of whoever asks, so each replica ends it at the same moment,
// whether anybody acts or not; it never makes a policy stricter. What the package writes is
// output only: no verdict is read from it. Start at InForce.
package override
