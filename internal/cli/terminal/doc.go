// SPDX-License-Identifier: Apache-2.0

// Package terminal draws on a terminal, or prints lines where there is none: pictures that
// are drawn over, the progress of long work, and a question that is answered by yes or no. Start
// reading at Screen.
package terminal
