// SPDX-License-Identifier: Apache-2.0

// Package wallclock is the time of the program: the machine's, or in a build for tests
// (tag clockoffset) one that a file makes jump. Only a composition calls it, once a part:
// everything else is given a clock. Start reading at New.
package wallclock
