// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated part of a page anew")

const (
	layoutPage  = "CONTRIBUTING.md"
	layoutBegin = "<!-- layout: generated from each package's doc comment -->\n"
	layoutEnd   = "<!-- end of layout -->\n"
	// longestConcern is what a cell of the table holds at most, in characters.
	longestConcern = 260
)

// layoutTrees are the folders whose packages the layout lists, in its order.
var layoutTrees = []string{"api", "cmd", "internal", "pkg", "test", "hack"}

// TestTheLayoutIsTheTree: a row for each package, and nothing else. Each row is the first
// sentence of the package's doc comment, up to its colon.
func TestTheLayoutIsTheTree(t *testing.T) {
	want := "| package | its one concern |\n|---|---|\n"
	for _, tree := range layoutTrees {
		for _, dir := range packagesBelow(t, tree) {
			concern, err := concernOf(filepath.Join(root, dir))
			if err != nil {
				t.Errorf("%s: %v", dir, err)
			}
			want += fmt.Sprintf("| `%s` | %s |\n", dir, strings.ReplaceAll(concern, "|", "\\|"))
		}
	}
	page := read(t, layoutPage)
	head, rest, begun := strings.Cut(page, layoutBegin)
	got, tail, ended := strings.Cut(rest, layoutEnd)
	if !begun || !ended {
		t.Fatalf("%s has lost the marks of the layout: a line %q before its table and a line %q after it", layoutPage,
			layoutBegin, layoutEnd)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, layoutPage), []byte(head+layoutBegin+want+layoutEnd+tail),
			0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("the layout in %s isn't the tree. A package was added, moved or removed, or what its doc comment "+
			"says was changed. Run\n"+
			"    go test ./test/docs -run TestTheLayoutIsTheTree -update\n"+
			"and commit the page with the package. After a conflict in the table take either side, and run it "+
			"then.\n(-page +tree)\n%s", layoutPage, diff)
	}
}

// packagesBelow are the folders with Go files in a tree, in their order, other modules' too.
func packagesBelow(t *testing.T, tree string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".go" {
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			found = append(found, filepath.ToSlash(dir))
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no package is found in %s: %v", tree, err)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// concernOf is what a package is for: its doc comment's first sentence up to a colon, without the words that
// each of them begins with.
func concernOf(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return "", err
		}
		if strings.HasSuffix(file, "_test.go") || parsed.Doc == nil {
			continue
		}
		synopsis := new(doc.Package).Synopsis(parsed.Doc.Text())
		words := strings.SplitN(strings.TrimSuffix(synopsis, "."), " ", 3)
		if len(words) < 3 || words[0] != "Package" && words[0] != "Command" {
			return "", fmt.Errorf(
				"%s: the doc comment must begin with \"Package NAME \" or \"Command NAME \" and say what it is for",
				filepath.Base(file))
		}
		concern, _, _ := strings.Cut(words[2], ": ")
		for _, verb := range []string{"is ", "holds "} {
			concern = strings.TrimPrefix(concern, verb)
		}
		if n := len([]rune(concern)); n > longestConcern {
			return "", fmt.Errorf("%s: the first sentence takes %d characters up to its colon, at most %d fit the "+
				"layout: say the one concern, and the rest in the sentences after it", filepath.Base(file), n,
				longestConcern)
		}
		return concern, nil
	}
	return "", fmt.Errorf("no file says in a comment on its package clause what the package is for: add a doc.go")
}

// mostFiles is how many files of product code a package may have: with more, it has more than one concern.
const mostFiles = 20

// manyFiles are the packages that may have more, with the reason.
var manyFiles = map[string]string{
	"api/v1alpha1": "one file a kind, and the API's types are one package",
}

// TestNoPackageHasTooManyFiles: doc.go counts, tests and what is generated don't.
func TestNoPackageHasTooManyFiles(t *testing.T) {
	excepted := 0
	for _, tree := range layoutTrees {
		for _, dir := range packagesBelow(t, tree) {
			files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, file := range files {
				name := filepath.Base(file)
				if !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_generated") {
					n++
				}
			}
			switch why, ok := manyFiles[dir]; {
			case ok && n > mostFiles:
				excepted++
			case ok:
				t.Errorf("%s has %d files, no more than others: drop its exception (%s)", dir, n, why)
			case n > mostFiles:
				t.Errorf("%s has %d files of product code, at most %d: put together what belongs together, or carve a "+
					"package of its own out of it", dir, n, mostFiles)
			}
		}
	}
	if excepted != len(manyFiles) {
		t.Errorf("%d of the %d packages with an exception are found", excepted, len(manyFiles))
	}
}
