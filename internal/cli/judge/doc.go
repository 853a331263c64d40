// SPDX-License-Identifier: Apache-2.0

// Package judge holds the commands that judge objects by policies: check and fix (files),
// scan, plan and explain (a cluster), rbac (what that takes). Which policies is a
// choice that they share. Nothing but fix writes, and fix writes files only. Start
// reading at Commands.
package judge
