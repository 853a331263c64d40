// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThePhrasesOfTheGlossaryAreKept looks for the phrases that the glossary replaces in what users read: strings of
// the program, descriptions of the API's fields, pages and manifests. Comments elsewhere, and tests, are our own.
func TestThePhrasesOfTheGlossaryAreKept(t *testing.T) {
	phrases := unusedWords(t, glossaryPhrases)
	texts := 0
	for _, file := range proseFiles(t) {
		for _, text := range forUsers(t, file) {
			texts++
			for _, phrase := range phrasesIn(phrases, text.line) {
				t.Errorf("%s:%d: %q isn't used, see %s: %s", file, text.number, phrase, glossaryPage, text.line)
			}
		}
	}
	if texts < 10000 {
		t.Fatalf("only %d lines are checked", texts)
	}
}

func TestAPhraseThatIsNotUsedIsFound(t *testing.T) {
	phrases := unusedWords(t, glossaryPhrases)
	for line, want := range map[string]string{
		"Apply the policy anew.":           "anew",
		"the plans at work":                "at work",
		"Whoever creates it":               "whoever",
		"it was fixed, and set back":       "set back",
		"once a person has said yes to it": "said yes",
		"a setback at workshops":           "",
		"the API server says nothing":      "",
	} {
		got := strings.Join(phrasesIn(phrases, line), ", ")
		if got != want {
			t.Errorf("%q: found %q, want %q", line, got, want)
		}
	}
}

func TestOnlyWhatUsersReadIsHeldToPhrases(t *testing.T) {
	for name, tc := range map[string]struct{ file, source, want string }{
		"a string of the program": {"internal/x/x.go", "package x\n\n// anew\nvar x = \"at work\" // whoever\n",
			"at work"},
		"a comment of the API": {"api/v1alpha1/x.go", "package x\n\n// anew\nvar x = 1\n", "anew"},
		"a test":               {"internal/x/x_test.go", "package x\n\nvar x = \"anew\"\n", ""},
		"a page":               {"docs/x.md", "Planned anew (`test/x_test.go#is planned at work`).\n", "anew"},
		"the change log":       {"CHANGELOG.md", "planned anew\n", ""},
	} {
		var got []string
		for _, text := range textsOf(t, tc.file, tc.source) {
			got = append(got, phrasesIn(unusedWords(t, glossaryPhrases), text.line)...)
		}
		if strings.Join(got, ", ") != tc.want {
			t.Errorf("%s: found %q, want %q", name, got, tc.want)
		}
	}
}

func phrasesIn(phrases map[string]*regexp.Regexp, line string) []string {
	var found []string
	for phrase, pattern := range phrases {
		if pattern.MatchString(line) {
			found = append(found, phrase)
		}
	}
	return found
}

// userText is a line of what users read.
type userText struct {
	number int
	line   string
}

func forUsers(t *testing.T, file string) []userText {
	t.Helper()
	return textsOf(t, file, read(t, file))
}

// testNames are what pages refer to by the names of tests, which may say things their own way.
var testNames = regexp.MustCompile("`[^`]*_test\\.go[^`]*`")

// textsOf are the lines of a file that users read: none of a test, and none of the change log, which is history.
func textsOf(t *testing.T, file, source string) []userText {
	t.Helper()
	top, _, _ := strings.Cut(file, "/")
	switch {
	case strings.HasSuffix(file, "_test.go"), file == "CHANGELOG.md":
		return nil
	case filepath.Ext(file) == ".go" && slices.Contains([]string{"api", "internal", "pkg", "cmd"}, top):
		return stringsOf(t, file, source, top == "api")
	case filepath.Ext(file) == ".md" || filepath.Ext(file) == ".yaml" && top == "config":
		return linesOf(testNames.ReplaceAllString(source, ""), 1)
	default:
		return nil
	}
}

// stringsOf are the string literals of a Go file, and its comments with them where they are descriptions.
func stringsOf(t *testing.T, file, source string, comments bool) []userText {
	t.Helper()
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var texts []userText
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			texts = append(texts, linesOf(literal.Value, positions.Position(literal.Pos()).Line)...)
		}
		return true
	})
	if comments {
		for _, group := range parsed.Comments {
			for _, comment := range group.List {
				texts = append(texts, linesOf(comment.Text, positions.Position(comment.Pos()).Line)...)
			}
		}
	}
	return texts
}

func linesOf(text string, first int) []userText {
	var lines []userText
	for i, line := range strings.Split(text, "\n") {
		lines = append(lines, userText{first + i, strings.TrimSpace(line)})
	}
	return lines
}
