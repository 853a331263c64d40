// SPDX-License-Identifier: Apache-2.0

// Package commandline runs commands in tests as a shell would.
package commandline
