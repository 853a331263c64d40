// SPDX-License-Identifier: Apache-2.0

// Package freeze holds the freezes of the whole cluster: times at which no plan begins a write, whatever its policy's
// windows say. The administrator gives them in a file, which is read anew each time, so that a change counts without a
// restart and nothing has to be remembered over one.
//
// It must never take a file that can't be read for one without freezes, and has no say over what undoes a write.
// Start reading at File.
package freeze
