// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the manager as a process against a real API server, and kills
// it, races it and cuts it off at the moments that matter. It must never assume
// when something happens, only what. Start at crash_test.go.
package e2e
