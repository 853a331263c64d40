// SPDX-License-Identifier: Apache-2.0

// Package rig joins a control plane, a fault proxy and the manager's process for
// a Ginkgo suite, and holds the questions that specs ask of them. The manager
// runs with the permissions that config/rbac gives it, never as an administrator. It
// must never wait for a time; it waits for what is to be seen. Start reading at
// Rig.
package rig
