// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	colors     = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	ginkgoLine = regexp.MustCompile(
		`(\d+) Passed \| (\d+) Failed \|(?: \d+ Flaked \|)? (\d+) Pending \| (\d+) Skipped`)
	closingLine = regexp.MustCompile(`(?m)^\s*(\d+) passed, (\d+) failed\b`)
)

// ginkgoSummary reads "… 12 Passed | 0 Failed | 0 Pending | 1 Skipped".
func ginkgoSummary(line string) (counts, bool) {
	m := ginkgoLine.FindStringSubmatch(colors.ReplaceAllString(line, ""))
	if m == nil {
		return counts{}, false
	}
	return counts{passed: number(m[1]), failed: number(m[2]), skipped: number(m[3]) + number(m[4])}, true
}

// lastGinkgoSummary reads the last such line of a command's output.
func lastGinkgoSummary(output string) (counts, bool) {
	var last counts
	found := false
	for line := range strings.Lines(output) {
		if got, ok := ginkgoSummary(line); ok {
			last, found = got, true
		}
	}
	return last, found
}

// closingSummary reads the last line "12 passed, 0 failed" of a command's output.
func closingSummary(output string) (counts, bool) {
	all := closingLine.FindAllStringSubmatch(colors.ReplaceAllString(output, ""), -1)
	if len(all) == 0 {
		return counts{}, false
	}
	last := all[len(all)-1]
	return counts{passed: number(last[1]), failed: number(last[2])}, true
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0 // only a number of more than 18 digits, which no run has
	}
	return n
}
