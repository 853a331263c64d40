// SPDX-License-Identifier: Apache-2.0

// Package walkthrough runs the commands of the documentation, page by page, as a
// reader would: in a fresh copy of the checkout, in one shell, in the order of the
// page, against a real control plane that the page itself starts.
//
// A page says what to do with each of its commands in the fence: "sh run" is run
// and must succeed, "sh run fails" must be refused, "sh run background" stays up
// until the page ends, and "sh skip: REASON" can't be run here. A fence
// "text output" after a command holds what it prints, line by line, where "…"
// stands for anything. A comment "<!-- sh run" holds commands that only the test
// needs, and "<!-- sh let NAME=VALUE -->" says what stands for the reader's own names
// from there on. Start at Parse.
package walkthrough
