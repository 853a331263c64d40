// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// parsedIn parses the Go files below a directory of the repository, tests among them or not, and says how many there are.
func parsedIn(t *testing.T, dir string, tests bool, look func(file string, places *token.FileSet, parsed *ast.File)) (
	files int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".go" || !tests && strings.HasSuffix(file, "_test.go") {
			return err
		}
		places := token.NewFileSet()
		parsed, err := parser.ParseFile(places, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		look(file, places, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
