// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
)

const (
	// messageLines and messageWidth bound what is printed of one failure: a record of CI
	// keeps some thousand characters from the first failure on.
	messageLines = 60
	messageWidth = 400
)

// failure is a test that failed, or one spec of a suite.
type failure struct {
	// test is its name, and about where it stands and how long it took.
	test, about string
	// suite marks a whole suite of specs: a report of it tells more.
	suite bool
	// message says why, in lines.
	message []string
}

// noise are lines that say nothing of why a test failed: what go test prints around a
// test, and Ginkgo's rows of dots and rules.
var noise = regexp.MustCompile(`^\s*(=== (RUN|PAUSE|CONT|NAME)\b.*|--- FAIL: .*|FAIL|-{10,}|[•S\s]*|<<.*|.*>>)$`)

// bounded gives the lines of an output that say something, without colors; of many the
// first, which have the failure, and the last, which have how it ended.
func bounded(output string) []string {
	var lines []string
	for line := range strings.Lines(colors.ReplaceAllString(output, "")) {
		line = strings.TrimRight(strings.TrimLeft(line, "•"), " \n")
		if noise.MatchString(line) {
			continue
		}
		if runes := []rune(line); len(runes) > messageWidth {
			line = string(runes[:messageWidth]) + " …"
		}
		lines = append(lines, line)
	}
	if len(lines) <= messageLines {
		return lines
	}
	const first = messageLines * 2 / 3
	kept := append([]string{}, lines[:first]...)
	kept = append(kept, "…")
	return append(kept, lines[len(lines)-(messageLines-first-1):]...)
}

// text is the failure as go test would begin it, so that whoever looks for failures in
// a record finds it, and then why.
func (f failure) text() string {
	text := "--- FAIL: " + f.test
	if f.about != "" {
		text += " (" + f.about + ")"
	}
	for _, line := range f.message {
		text += "\n      " + strings.TrimLeft(line, " ")
	}
	return text
}
