// SPDX-License-Identifier: Apache-2.0

// Package permissions knows which permissions of RBAC Evenkeel's work asks for: those that a
// plan's targets need and the controller lacks (Finder), and the least roles that a
// set of policies needs at all (LeastFor).
//
// It asks the API server what is allowed, and resolves kinds; it must never grant
// anything. Which action needs what stands in internal/action alone.
package permissions
