// SPDX-License-Identifier: Apache-2.0

// Package source holds the commands on PolicySources: show them, and have a repository
// read now, no longer, or again. It never talks to a Git server. Start reading at NewCommand.
package source
