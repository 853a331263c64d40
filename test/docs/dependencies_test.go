// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachDependencyHasItsReason: whoever adds a dependency says what for and why this one, and whoever removes one
// removes its line.
func TestEachDependencyHasItsReason(t *testing.T) {
	const page = "docs/decisions/dependencies.md"
	var direct []string
	for line := range strings.Lines(read(t, "go.mod")) {
		if m := regexp.MustCompile(`^\t(\S+) v\S+$`).FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			direct = append(direct, m[1])
		}
	}
	if len(direct) < 20 {
		t.Fatalf("%d direct dependencies are found in go.mod: this test reads it wrongly", len(direct))
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\| ([^|]*) \\|").FindAllStringSubmatch(
		read(t, page), -1) {
		told = append(told, m[1])
		if strings.TrimSpace(m[2]) == "" || strings.TrimSpace(m[3]) == "" {
			t.Errorf("%s doesn't say what %s is for and why this one", page, m[1])
		}
		if !slices.Contains(direct, m[1]) {
			t.Errorf("%s has a line for %s, which isn't a direct dependency: remove it", page, m[1])
		}
	}
	for _, module := range direct {
		if !slices.Contains(told, module) {
			t.Errorf("%s has no line for %s: say what for and why this one", page, module)
		}
	}
}
