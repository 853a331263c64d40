// SPDX-License-Identifier: Apache-2.0

// Package condition compiles and evaluates a policy's match conditions: which admission
// requests it judges at all, in CEL as Kubernetes' own admission policies have it.
//
// It must never say that an audit isn't meant, and never take what it can't tell for
// false: an error is the policy's failure. Start at Set.
package condition
