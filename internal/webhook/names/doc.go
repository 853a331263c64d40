// SPDX-License-Identifier: Apache-2.0

// Package names holds the names by which admission is known: the webhook configurations
// and their entries, and the paths of the server.
//
// It must never hold more than constants: whoever looks at an installation from outside
// imports it. Start at Configuration.
package names
