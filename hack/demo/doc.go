// SPDX-License-Identifier: Apache-2.0

// Command demo shows Evenkeel's main job on a real Kubernetes control plane,
// from nothing to a summary: old violations, a policy, a staged remediation, a
// bad fix that is rolled back, drift, a person's approval, and metrics that say no. It checks every
// claim that it prints against the API server and ends with an error at the first that doesn't
// hold; it must never print a figure that it didn't read there. Start reading at [demo.steps].
package main
