// SPDX-License-Identifier: Apache-2.0

// Package planning makes plans of violations: it chooses the targets that may be fixed now,
// lays them out in waves, canary first, and stores the plan for people to see; and it keeps
// the history of plans short. A Previewer shows the same without storing anything. It
// writes to no target. Start at Planner.Reconcile.
package planning
