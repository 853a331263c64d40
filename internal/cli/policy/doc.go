// SPDX-License-Identifier: Apache-2.0

// Package policy holds the commands on policies in a cluster: override. They never write a
// policy itself, and nobody becomes an author of one by them. Start reading at NewCommand.
package policy
