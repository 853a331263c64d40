// SPDX-License-Identifier: Apache-2.0

// Package migrate holds the command migrate: it turns another tool's policies into Evenkeel's, from files, and from a
// cluster in which Gatekeeper runs. It writes to a cluster only what a person has confirmed. Start reading at
// NewCommand.
package migrate
