// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEachDecisionSaysWhyAndWhatElse: a page that only says what is so would be no decision. Pages that answer many
// questions at once have a form of their own.
func TestEachDecisionSaysWhyAndWhatElse(t *testing.T) {
	ownForm := map[string]bool{"README.md": true, "api.md": true, "dependencies.md": true}
	pages, err := filepath.Glob(filepath.Join(root, "docs/decisions/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no decisions are found: %v", err)
	}
	for _, path := range pages {
		name, page := filepath.Base(path), readPath(t, path)
		if ownForm[name] {
			continue
		}
		rest := page
		for _, heading := range []string{"Context", "Decision", "Alternatives", "Measured", "Consequences"} {
			_, after, found := strings.Cut(rest, "\n## "+heading+"\n")
			if !found {
				t.Errorf("docs/decisions/%s has no section %q in its place", name, heading)
				continue
			}
			rest = after
		}
		if lines := strings.Count(page, "\n"); lines > 75 {
			t.Errorf("docs/decisions/%s has %d lines: a decision is a page", name, lines)
		}
	}
}
