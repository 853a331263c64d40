// SPDX-License-Identifier: Apache-2.0

// Package cluster sets the demo's stage: it builds the programs, runs a local
// control plane, installs Evenkeel's manifests and runs the manager beside it,
// with the permissions of its service account and no more. It must never leave a
// process behind unless it is asked to. Start reading at [Start].
package cluster
