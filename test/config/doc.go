// SPDX-License-Identifier: Apache-2.0

// Package config proves the manifests in config/: every overlay builds with every
// component, the API server accepts what they make, the permissions are those that the
// comments promise and are enough for a manager that has no others, an upgrade keeps
// what is stored, and an uninstall leaves nothing behind that blocks the cluster. It
// must never apply anything to a cluster that it didn't start itself. Start at
// suite_test.go.
package config
