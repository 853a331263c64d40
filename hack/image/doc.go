// SPDX-License-Identifier: Apache-2.0

// Command image builds the image of Evenkeel out of compiled programs, without a
// registry, a container runtime or root, and pushes it. The image stands on no other:
// it holds the program, the authorities that Mozilla trusts, and two users. The same
// programs give the same bytes, on any machine and at any time; so it must never read
// the clock, the environment or files of the machine besides the programs. Start at
// build.go.
package main
