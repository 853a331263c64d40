// SPDX-License-Identifier: Apache-2.0

// Package progress tells a person what a long step is doing and for how long.
// It never decides whether a step succeeded. Start reading at [Printer].
package progress
