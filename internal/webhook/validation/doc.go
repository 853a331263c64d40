// SPDX-License-Identifier: Apache-2.0

// Package validation checks Evenkeel's own kinds when they are written: policies,
// templates, strategies, waivers, answers to plans, and what only the manager may write.
// Whoever writes one learns at once what is wrong with it, and where.
//
// It must never let through what it couldn't read or check: these kinds fail closed. Who
// may write one isn't its matter, but RBAC's. Start reading at PolicyHandler.
package validation
