// SPDX-License-Identifier: Apache-2.0

// Package authoring holds the commands for authors of policies: new, build, test and
// runbooks. None of them asks a cluster. Start reading at Commands.
package authoring
