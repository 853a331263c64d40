// SPDX-License-Identifier: Apache-2.0

// Package requests says what a write of a circuit breaker or a plan asks for, and keeps
// the record of it in the object: who asked, when and why.
//
// It must never let a record be written in another's name, changed or taken away. What
// each request needs the permission for isn't its matter: the API server itself asks
// that, by config/rbac/requests_policy.yaml. Start reading at Record.
package requests
