// SPDX-License-Identifier: Apache-2.0

// Package planner has OPA's planner make the intermediate representation of a policy, and says
// of one whether the compiled engine gives what OPA's own gives.
//
// Start at Plan and NeedsTopdown.
package planner
