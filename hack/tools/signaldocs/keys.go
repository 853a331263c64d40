// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	ownKey = regexp.MustCompile(`^([a-z]+\.)?evenkeel\.dev/[a-z-]+$`)
	// told is what the comment of a key says: the meaning, on which objects it stands, and
	// who writes it.
	told = regexp.MustCompile(`^\S+ (.*\.) On: (.+)\. By: (.+)\.$`)
)

// writeKeys writes the reference of labels, annotations and finalizers.
func writeKeys(root, output string) error {
	var rows []row
	for _, folder := range []string{"api", "internal"} {
		found, err := keysBelow(filepath.Join(root, folder))
		if err != nil {
			return err
		}
		rows = append(rows, found...)
	}
	if len(rows) < 15 {
		return fmt.Errorf("found %d labels and annotations: this command looks in the wrong place", len(rows))
	}
	var text strings.Builder
	text.WriteString(
		"<!-- Generated from the code: run `make generate`. -->\n\n# Labels, annotations and finalizers\n\n" +
			"Each has one meaning on whatever object it stands: [why](../decisions/api.md).\n")
	table(&text, "Keys", row{"key", "is", "on", "written by", "meaning"}, rows)
	if err := os.WriteFile(output, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}
	return nil
}

func keysBelow(folder string) ([]row, error) {
	var rows []row
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parse(path)
		if err != nil {
			return fmt.Errorf("read the code: %w", err)
		}
		found, err := keysOf(file)
		rows = append(rows, found...)
		return err
	})
	return rows, err
}

// keysOf are the constants of a file that are keys of ours.
func keysOf(file *ast.File) ([]row, error) {
	var rows []row
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, spec := range block.Specs {
			constant, ok := spec.(*ast.ValueSpec)
			if !ok || len(constant.Values) == 0 || !ownKey.MatchString(text(constant.Values[0])) {
				continue
			}
			comment := constant.Doc.Text()
			if !block.Lparen.IsValid() {
				comment = block.Doc.Text()
			}
			said := told.FindStringSubmatch(strings.Join(strings.Fields(comment), " "))
			if said == nil {
				return nil, fmt.Errorf("the comment of %s must end with \"On: OBJECTS. By: WHO.\"",
					constant.Names[0].Name)
			}
			rows = append(rows, row{"`" + text(constant.Values[0]) + "`", sortOf(constant.Names[0].Name), said[2],
				said[3], said[1]})
		}
	}
	return rows, nil
}

// sortOf tells from a constant's name what it is.
func sortOf(name string) string {
	for _, sort := range []string{"label", "finalizer"} {
		if strings.Contains(strings.ToLower(name), sort) {
			return sort
		}
	}
	return "annotation"
}
