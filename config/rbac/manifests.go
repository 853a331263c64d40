// SPDX-License-Identifier: Apache-2.0

// Package rbac holds what guards the verbs of people's requests, and what warns of keys without effect, of this
// version.
package rbac

import _ "embed"

// Requests are the ValidatingAdmissionPolicies that ask for the verbs, and their
// bindings.
//
//go:embed requests_policy.yaml
var Requests []byte

// Keys are the ValidatingAdmissionPolicy that warns of annotations and labels without effect,
// and its binding.
//
//go:embed keys_policy.yaml
var Keys []byte
