// SPDX-License-Identifier: Apache-2.0

// Command runtests runs the project's tests stage by stage, shows what is going
// on, and ends with one line that counts them all: "N passed, N failed". It must
// never call a run good that didn't happen: a package that doesn't build, a test
// that never ended and a stage without tests are failures. It uses the standard
// library only. Start reading at stages, then tally.
package main
