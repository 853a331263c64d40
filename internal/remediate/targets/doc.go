// SPDX-License-Identifier: Apache-2.0

// Package targets reads and writes the objects that plans fix: past every cache, each guarded by
// what was read of it, and judged by one policy as it is now. It remembers namespaces and owners
// for one reconcile, and nothing else. It decides nothing: whether an object may be written, and
// what, is for package fix. Start at Client.
package targets
