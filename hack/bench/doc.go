// SPDX-License-Identifier: Apache-2.0

// Command bench compares Evenkeel with its peers.
//
// It times evenkeel check beside conftest and gator test: the same manifests, the same four rules written for each,
// whole commands, one after the other on the same machine. Before any time is taken the three must find the same
// violations in the same objects. With --templates it does so beside gator test alone, by ConstraintTemplates (pods).
//
// With --engines it times admission instead, from the bytes of an AdmissionReview to the decision: Evenkeel's webhook
// (own) beside Gatekeeper's engine (gator/engine), by the same rules (pods), once they find the same in hundreds of
// reviews.
//
// With --scan it times the scan of a cluster of Pods (own/scan) beside Gatekeeper's audit (gator/engine), and with
// --memory it measures what the scan of a large one takes. The API server (internal/apiserver) is this program, run
// once more with --serve.
// With --webhook it times Evenkeel's webhook over TLS beside one of controller-runtime that admits everything
// (own/noop), and with --apiserver a real API server that has Evenkeel's manager, Gatekeeper's or its own
// ValidatingAdmissionPolicies judge Pods.
//
// With --compare it generates objects instead, and has Gatekeeper's engine and evenkeel check judge them by the same
// ConstraintTemplates and constraints (estate/rules.yaml): all must be the same, word for word.
//
// The folders conftest and gator pin the programs. Start at main.
package main
