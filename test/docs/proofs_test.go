// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proofColumn is the head of the column that names the tests of a claim.
const proofColumn = "proven by"

// proof is a test that a page names: `path/of_test.go#name`, where the name is
// that of a test function, or the text of a spec or of a table's entry.
var proof = regexp.MustCompile("`([^`#]+_test\\.(?:go|rego))#([^`]+)`")

// claim is a row of a table that has a column of proofs.
type claim struct {
	line int
	text string
	// proofs is the cell that names the tests.
	proofs string
}

// claims are the rows of all tables of a page that have a column of proofs.
func claims(page string) []claim {
	var out []claim
	column := -1
	for n, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "|") {
			column = -1
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if column < 0 {
			column = -2
			for i, cell := range cells {
				if strings.TrimSpace(cell) == proofColumn {
					column = i
				}
			}
			continue
		}
		if column < 0 || strings.Trim(line, "|-: ") == "" {
			continue
		}
		row := claim{line: n + 1, text: strings.TrimSpace(cells[0]) + " " +
			strings.TrimSpace(cells[min(1, len(cells)-1)])}
		if column < len(cells) {
			row.proofs = cells[column]
		}
		out = append(out, row)
	}
	return out
}

// splitString is where a string goes on in the next line.
var splitString = regexp.MustCompile(`" ?\+\n\s*"`)

// joined is Go's source with each string in one piece, as a page cites it.
func joined(source string) string { return splitString.ReplaceAllString(source, "") }

// unproven says what is wrong with a proof, or nothing.
func unproven(path, name string) string {
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return "there is no such file"
	}
	text := joined(string(raw))
	asFunction := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	asRego := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `( if|\b)`)
	switch {
	case strings.HasSuffix(path, ".go") && asFunction.MatchString(text):
	case strings.HasSuffix(path, ".rego") && asRego.MatchString(text):
	case strings.Contains(text, `It("`+name+`"`), strings.Contains(text, `Entry("`+name+`"`),
		strings.Contains(text, `DescribeTable("`+name+`"`):
	case strings.Contains(text, `"`+name+`": {`), strings.Contains(text, `"`+name+`":`): // a row of a table
	default:
		return "the file has no test of that name"
	}
	return ""
}

func TestEveryClaimOfTheThreatModelNamesItsProof(t *testing.T) {
	found := 0
	for _, c := range claims(read(t, "docs/threat-model.md")) {
		found++
		proofs := proof.FindAllStringSubmatch(c.proofs, -1)
		if len(proofs) == 0 {
			t.Errorf("docs/threat-model.md:%d: %s: names no test as `path/of_test.go#name`", c.line, c.text)
		}
		for _, p := range proofs {
			if problem := unproven(p[1], p[2]); problem != "" {
				t.Errorf("docs/threat-model.md:%d: %s: %s#%s: %s", c.line, c.text, p[1], p[2], problem)
			}
		}
	}
	if found == 0 {
		t.Error("docs/threat-model.md has no table with a column of proofs: this test looks in the wrong place")
	}
}

// TestEveryTestThatAPageNamesExists: whoever moves or renames a test moves its name on the pages.
func TestEveryTestThatAPageNamesExists(t *testing.T) {
	found := 0
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "CONTRIBUTING.md", "README.md"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: no pages: %v", pattern, err)
		}
		for _, page := range pages {
			for _, named := range proof.FindAllStringSubmatch(readPath(t, page), -1) {
				found++
				if problem := unproven(named[1], named[2]); problem != "" {
					t.Errorf("%s names %s#%s: %s. Name the test where it is now", strings.TrimPrefix(page, root+"/"),
						named[1], named[2], problem)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no page names a test: this test looks for them in the wrong form")
	}
}

func TestEveryAttemptIsInTheThreatModel(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "test/attack/*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no attempts found: %v", err)
	}
	page := read(t, "docs/threat-model.md")
	spec := regexp.MustCompile(`(?:\bIt|\bEntry)\("([^"]+)"`)
	for _, file := range files {
		for _, m := range spec.FindAllStringSubmatch(joined(readPath(t, file)), -1) {
			if named := "test/attack/" + filepath.Base(file) + "#" + m[1]; !strings.Contains(page, "`"+named+"`") {
				t.Errorf("docs/threat-model.md doesn't name %s", named)
			}
		}
	}
}
