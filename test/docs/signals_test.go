// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const signalsPage = "docs/reference/signals.md"

// TestEveryReasonHasItsRow: a condition, a state or a verdict can have each constant of the API whose name begins with
// Reason, so people look it up.
func TestEveryReasonHasItsRow(t *testing.T) {
	_, section, found := strings.Cut(read(t, signalsPage), "\n## Reasons of conditions\n")
	if !found {
		t.Fatalf("%s has no section of the reasons of conditions", signalsPage)
	}
	reasons := 0
	for name, value := range apiConstants(t) {
		if !strings.HasPrefix(name, "Reason") {
			continue
		}
		reasons++
		if !strings.Contains(section, "| `"+value+"` | ") {
			t.Errorf("%s has no row for %s, api/v1alpha1's %s: the comment on its block must begin with "+
				"\"Reasons of \"; run make generate", signalsPage, value, name)
		}
	}
	if reasons < 100 {
		t.Errorf("api/v1alpha1 holds %d reasons: this test looks in the wrong place", reasons)
	}
}

// TestNoSignalIsDescribedByGo: readers of the reference know the values, and not what constants are called.
func TestNoSignalIsDescribedByGo(t *testing.T) {
	constants, word := apiConstants(t), regexp.MustCompile(`\w+`)
	values := map[string]bool{}
	for _, value := range constants {
		values[value] = true
	}
	rows := 0
	for line := range strings.Lines(read(t, signalsPage)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		rows++
		for _, w := range word.FindAllString(line, -1) {
			if _, named := constants[w]; named && !values[w] {
				t.Errorf("%s speaks of %s, which is the name of a constant: say what its value is\n%s", signalsPage,
					w, line)
			}
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if slices.ContainsFunc(cells, blank) {
			t.Errorf("%s has a row with an empty cell: %s", signalsPage, line)
		}
	}
	if rows < 200 {
		t.Errorf("%s has %d rows: this test looks in the wrong place", signalsPage, rows)
	}
}

func blank(cell string) bool { return strings.TrimSpace(cell) == "" }

// apiConstants are the values of the API's string constants, by name.
func apiConstants(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "api/v1alpha1/*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the API are found: %v", err)
	}
	values := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if value, err := strconv.Unquote(literal.Value); err == nil {
					values[spec.Names[0].Name] = value
				}
			}
			return true
		})
	}
	return values
}
