// SPDX-License-Identifier: Apache-2.0

// Package process starts, finds and ends the programs of a control plane. It
// believes only what /proc says about a running process, never a file with a
// number in it, and never signals a process whose command line doesn't name
// the instance's folder. Start reading at [Find] and [Launcher].
package process
