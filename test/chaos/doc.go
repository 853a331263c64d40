// SPDX-License-Identifier: Apache-2.0

// Package chaos breaks what a rollout stands on, while it is under way, against
// a real control plane, and counts what became of every target: how often it was
// written, whether it was lost, and what a rollback left wrong. Each fault is a
// spec of its own; the figures of all make the table of docs/chaos.md. A spec
// must never wait for a time; it waits for what is to be seen. Start reading at
// experiment.
package chaos
