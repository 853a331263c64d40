// SPDX-License-Identifier: Apache-2.0

// Package debian fetches programs that aren't built from Go modules here,
// Prometheus, Alertmanager, OpenSSH's server and bubblewrap, as packages of the machine's own
// Debian or Ubuntu release, and keeps them in the cache folder. It needs no root: it downloads
// with apt, which checks the signatures, unpacks, and never installs. It never
// leaves a half-unpacked program in the cache. Start reading at [Tools].
package debian
