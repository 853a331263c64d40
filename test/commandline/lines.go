// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"strings"
	"testing"
	"unicode"
)

// NoCommands holds what a command has told to lines that are no commands to a CI system, and drive no terminal.
func NoCommands(t *testing.T, told string) {
	t.Helper()
	for line := range strings.SplitSeq(told, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") ||
			strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("the line %q is written in\n%s", line, told)
		}
	}
}
