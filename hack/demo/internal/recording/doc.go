// SPDX-License-Identifier: Apache-2.0

// Package recording keeps what is written to a terminal and draws it as one small SVG that plays by itself:
// the lines scroll by as they came, without a script. It must never change what the terminal gets. Start
// reading at [Recording].
package recording
