// SPDX-License-Identifier: Apache-2.0

// Package rollout holds the commands on rollouts: show, follow and undo them, and say what
// is wanted of them. It changes a Remediation's spec only, never its status. Start
// reading at NewCommand.
package rollout
