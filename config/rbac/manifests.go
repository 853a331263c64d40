// SPDX-License-Identifier: Apache-2.0

// Package rbac holds what guards the verbs of people's requests, of this version.
package rbac

import _ "embed"

// Requests are the ValidatingAdmissionPolicies that ask for the verbs, and their
// bindings.
//
//go:embed requests_policy.yaml
var Requests []byte
