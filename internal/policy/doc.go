// SPDX-License-Identifier: Apache-2.0

// Package policy holds the terms in which Evenkeel speaks of judging an object:
// what is asked (Request), what is answered (Decision), and what a rule proposes
// to do about it (Action). Admission, scan, remediation and the command line all
// use these, so that one object never gets two verdicts.
//
// It uses the standard library only, and it must never do I/O. Start at Request.
package policy
