// SPDX-License-Identifier: Apache-2.0

// Package version tells what the program was built from, as the linker and the Go toolchain
// stamped it. It never asks Git. Start reading at String.
package version
