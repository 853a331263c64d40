// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestIndexesNameEveryPage: whoever looks for a page looks in an index.
func TestIndexesNameEveryPage(t *testing.T) {
	for _, index := range []struct{ page, link, pages string }{
		{"docs/README.md", "", "docs/*.md"},
		{"docs/README.md", "runbooks/", "docs/runbooks/*.md"},
		{"docs/policies.md", "policies/", "docs/policies/*.md"},
		{"docs/decisions/README.md", "", "docs/decisions/*.md"},
	} {
		text := read(t, index.page)
		pages, err := filepath.Glob(filepath.Join(root, index.pages))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: no page is found: %v", index.pages, err)
		}
		for _, page := range pages {
			name := filepath.Base(page)
			if name != "README.md" && !strings.Contains(text, "("+index.link+name+")") {
				t.Errorf("%s doesn't link to %s%s", index.page, index.link, name)
			}
		}
	}
}

// TestTheThreatModelAnswersEachThreatOnce: two rows for one threat come to say two things.
func TestTheThreatModelAnswersEachThreatOnce(t *testing.T) {
	_, table, found := strings.Cut(read(t, "docs/threat-model.md"), "\n## Admission\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (\d+) `).FindAllStringSubmatch(table, -1)
	if !found || len(rows) < 18 {
		t.Fatalf("%d threats are found, want those of the SIG's model", len(rows))
	}
	var seen []string
	for _, row := range rows {
		if slices.Contains(seen, row[1]) {
			t.Errorf("threat %s has more than one row", row[1])
		}
		seen = append(seen, row[1])
	}
}
