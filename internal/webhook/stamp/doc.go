// SPDX-License-Identifier: Apache-2.0

// Package stamp fills in who did something: who wrote a policy, asked
// something of a breaker or a plan, or answered one, when and why. Nobody can then speak in another's name.
//
// It must never change an object but for the fields of All, never take the word of the
// request for who makes it, and never take a record away. What each request needs the
// permission for isn't its matter: config/rbac/requests_policy.yaml has the API server
// check that. Start reading at Field.
package stamp
