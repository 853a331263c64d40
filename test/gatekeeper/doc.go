// SPDX-License-Identifier: Apache-2.0

// Package gatekeeper moves a cluster from the real Gatekeeper to Evenkeel and back, both running beside one another on
// a real control plane. Gatekeeper's program and manifests come from its module, which hack/components/gatekeeper
// pins. Start reading at migrate_test.go.
package gatekeeper
