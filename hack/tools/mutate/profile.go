// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// amendFile adds to a coverage profile what amended does.
func amendFile(profile string) error {
	module, err := exec.Command(os.Getenv(goVariable), "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("name the module: %w", err)
	}
	path, dir, _ := strings.Cut(strings.TrimSpace(string(module)), " ")
	text, err := os.ReadFile(profile)
	if err != nil {
		return fmt.Errorf("read the coverage: %w", err)
	}
	more, err := amended(string(text), path, dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(profile, []byte(more), 0o600); err != nil {
		return fmt.Errorf("write the coverage: %w", err)
	}
	return nil
}

// block is a line of a coverage profile.
type block struct {
	from, to position
	count    int
}

type position struct{ line, column int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// amended is a coverage profile with blocks for what Go's coverage has no counter for: the conditions of a switch's
// cases, which count as covered where the switch is, and the values of a package's constants and variables.
func amended(profile, module, root string) (string, error) {
	files := map[string][]block{}
	for line := range strings.Lines(profile) {
		var b block
		var statements int
		file, rest, ok := strings.Cut(strings.TrimSpace(line), ".go:")
		if !ok {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from.line, &b.from.column, &b.to.line, &b.to.column,
			&statements, &b.count); err != nil {
			return "", fmt.Errorf("read the coverage %q: %w", line, err)
		}
		files[file+".go"] = append(files[file+".go"], b)
	}
	var out strings.Builder
	out.WriteString(profile)
	for file, blocks := range files {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.Join(root, strings.TrimPrefix(file, module+"/")), nil,
			parser.SkipObjectResolution)
		if err != nil {
			return "", fmt.Errorf("read what is covered: %w", err)
		}
		for _, b := range uncounted(set, parsed, blocks) {
			fmt.Fprintf(&out, "%s:%d.%d,%d.%d 1 %d\n", file, b.from.line, b.from.column, b.to.line, b.to.column,
				b.count)
		}
	}
	return out.String(), nil
}

// uncounted are blocks of a file for which there is no counter.
func uncounted(set *token.FileSet, file *ast.File, counted []block) []block {
	at := func(p token.Pos) position {
		where := set.Position(p)
		return position{where.Line, where.Column}
	}
	var found []block
	for _, d := range file.Decls {
		if values, ok := d.(*ast.GenDecl); ok && !holdsFunction(values) {
			found = append(found, block{at(values.Pos()), at(values.End()), 1})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		choice, ok := n.(*ast.SwitchStmt)
		if !ok {
			return true
		}
		for _, c := range choice.Body.List {
			for _, condition := range c.(*ast.CaseClause).List {
				if !holdsFunction(condition) {
					found = append(found, block{at(condition.Pos()), at(condition.End()),
						countAt(counted, at(choice.Pos()))})
				}
			}
		}
		return true
	})
	return found
}

// holdsFunction says whether there is a function within, which has counters of its own.
func holdsFunction(n ast.Node) bool {
	holds := false
	ast.Inspect(n, func(n ast.Node) bool {
		_, is := n.(*ast.FuncLit)
		holds = holds || is
		return !holds
	})
	return holds
}

// countAt is how often what stands at a position ran.
func countAt(counted []block, p position) int {
	most := 0
	for _, b := range counted {
		if !p.before(b.from) && p.before(b.to) {
			most = max(most, b.count)
		}
	}
	return most
}
