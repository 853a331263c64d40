// SPDX-License-Identifier: Apache-2.0

// Package cluster starts a real control plane for a test suite and stops it
// afterwards. It must never reach a cluster that it didn't start itself. Start
// reading at Cluster.
package cluster
