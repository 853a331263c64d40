// SPDX-License-Identifier: Apache-2.0

// Package terminal draws on a terminal, or prints lines where there is none: pictures that
// are drawn over, and the progress of long work. It never reads from the terminal. Start
// reading at Screen.
package terminal
