// SPDX-License-Identifier: Apache-2.0

// Package history tells what the ended plans of a policy say of its next one: which
// objects are being fought over or wait after a failure, how many failures stand, which
// revision is blocked, and which plans must still be kept for all that.
//
// It reads plans and records that it is given, and must never read or write a cluster.
// Start at Past.Remember.
package history
