// SPDX-License-Identifier: Apache-2.0

// Package screen writes the demo's story to a terminal, with colors and lines
// that redraw themselves, or to anything else as plain lines. It must never
// decide whether something holds: it shows what it is told. Start reading at
// [Screen].
package screen
