// SPDX-License-Identifier: Apache-2.0

// Package journeys follows people through what they want of Evenkeel, on a real control plane: one file a person, the
// commands as they type them, with their permissions alone, and what must be printed. The time of each step is
// reported, and `make journeys` prints that of each person. A journey must never reach past the command line, but to set
// the scene. Start at person.types.
//
// The runbooks are followed, too: each command of docs/runbooks has a row (rows) with the situation in which it is run
// and what it must print there.
package journeys
