// SPDX-License-Identifier: Apache-2.0

// Package limit stops an evaluation: at its time limit, when it makes or holds too much, when
// it compares too deep; and has those that take long take turns. What it is asked while rules
// are evaluated must take next to no time, and it must never stop an expression that a rule is
// promised. It knows no policy.
//
// Start at Watch, and at Lane.
package limit
