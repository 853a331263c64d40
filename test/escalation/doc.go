// SPDX-License-Identifier: Apache-2.0

// Package escalation tests that people are notified: the manager as a process, real
// Alertmanagers that route by owner, and webhook receivers. Start reading at
// suite_test.go.
package escalation
