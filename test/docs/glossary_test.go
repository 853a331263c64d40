// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	glossaryPage = "docs/glossary.md"
	// glossaryUnused is the heading of the table of words that aren't used.
	glossaryUnused = "## Words that aren't used"
	// glossaryPhrases is that of the table of phrases that texts for users don't have.
	glossaryPhrases = "## Phrases that aren't used in texts for users"
)

// glossaryExcept are where a word stands for something else: clocks are put back.
var glossaryExcept = map[string]string{
	"put back": `(?i)clock|forward`,
}

// TestTheGlossaryIsKept looks for the words that the glossary replaces in all that people
// read: code with its comments and messages, manifests and pages.
func TestTheGlossaryIsKept(t *testing.T) {
	words := unusedWords(t, glossaryUnused)
	for _, file := range proseFiles(t) {
		for i, line := range strings.Split(read(t, file), "\n") {
			for word, pattern := range words {
				if pattern.MatchString(prose(file, line)) && !excepted(word, line) {
					t.Errorf("%s:%d: %q isn't used, see %s: %s", file, i+1, word, glossaryPage, strings.TrimSpace(line))
				}
			}
		}
	}
}

func TestAWordThatIsNotUsedIsFound(t *testing.T) {
	words := unusedWords(t, glossaryUnused)
	cases := map[string]string{
		"the policy mends it":             "mends",
		"// Mended objects":               "mended",
		"s.LeftAlone":                     "LeftAlone",
		"the controller lacks rights":     "rights",
		"it is put back by the leader":    "put back",
		"when clocks are put back":        "",
		"recommended amendments":          "",
		"the permission is right":         "",
		"what is on the right-hand side;": "",
	}
	for line, want := range cases {
		var got []string
		for word, pattern := range words {
			if pattern.MatchString(line) && !excepted(word, line) {
				got = append(got, word)
			}
		}
		if want == "" && len(got) > 0 || want != "" && !slices.Contains(got, want) {
			t.Errorf("%q: found %q, want %q", line, got, want)
		}
	}
}

// quoted is code in Markdown.
var quoted = regexp.MustCompile("`[^`]*`")

// prose is a line without what it quotes where old names must be named: in the change log.
func prose(file, line string) string {
	if file == "CHANGELOG.md" {
		return quoted.ReplaceAllString(line, "")
	}
	return line
}

func excepted(word, line string) bool {
	except, ok := glossaryExcept[word]
	return ok && regexp.MustCompile(except).MatchString(line)
}

// unusedWords are the left cells of the glossary's table below a heading.
func unusedWords(t *testing.T, heading string) map[string]*regexp.Regexp {
	t.Helper()
	_, table, found := strings.Cut(read(t, glossaryPage), heading)
	if !found {
		t.Fatalf("%s has no heading %q", glossaryPage, heading)
	}
	table, _, _ = strings.Cut(table, "\n## ")
	words := map[string]*regexp.Regexp{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "not" {
			continue
		}
		for word := range strings.SplitSeq(cells[1], ",") {
			word = strings.TrimSpace(word)
			words[word] = regexp.MustCompile(fmt.Sprintf(`(?i)\b%s\b`, regexp.QuoteMeta(word)))
		}
	}
	if len(words) < 9 {
		t.Fatalf("%s names %d words only", glossaryPage, len(words))
	}
	return words
}

// proseFiles are the files of the repository that hold words for people.
func proseFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(notProse, filepath.ToSlash(name)) {
			return filepath.SkipDir
		}
		if slices.Contains(proseTypes, filepath.Ext(path)) && !strings.HasPrefix(filepath.Base(path), "glossary") {
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 500 {
		t.Fatalf("%d files only are looked at", len(files))
	}
	return files
}

var (
	proseTypes = []string{".go", ".md", ".yaml", ".rego", ".sh", ".json", ".txt"}
	// notProse are folders of what is built or fetched.
	notProse = []string{".git", "bin", "dist", "node_modules", ".cache"}
)
