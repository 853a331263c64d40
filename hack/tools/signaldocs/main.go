// SPDX-License-Identifier: Apache-2.0

// Command signaldocs writes the references of metrics, event reasons and condition
// reasons, and of labels and annotations, from the code that gives them, so that it can't say anything else. It must
// never hold text of its own about one of them. Start at run.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "Usage: signaldocs REPOSITORY SIGNALS_FILE LABELS_FILE")
		os.Exit(2)
	}
	err := run(os.Args[1], os.Args[2])
	if err == nil {
		err = writeKeys(os.Args[1], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// row is one line of a table, sorted by its first cell.
type row []string

func run(root, output string) error {
	metrics, err := metricsBelow(filepath.Join(root, "internal"))
	if err != nil {
		return fmt.Errorf("read the code: %w", err)
	}
	events, conditions, err := reasonsBelow(filepath.Join(root, "api", "v1alpha1"))
	if err != nil {
		return fmt.Errorf("read the API: %w", err)
	}
	if len(metrics) == 0 || len(events) == 0 || len(conditions) == 0 {
		return fmt.Errorf("found %d metrics, %d events and %d conditions: this command looks in the wrong place",
			len(metrics), len(events), len(conditions))
	}
	var text strings.Builder
	text.WriteString("<!-- Generated from the code: run `make generate`. -->\n\n# Metrics, events and conditions\n\n" +
		"What to do about them: [operate.md](../operate.md).\n")
	table(&text, "Metrics", row{"name", "type", "meaning"}, metrics)
	table(&text, "Reasons of events", row{"reason", "meaning"}, events)
	table(&text, "Reasons of conditions", row{"reason", "of", "meaning"}, conditions)
	if err := os.WriteFile(output, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}
	return nil
}

// metricsBelow reads each file called metrics.go below a folder.
func metricsBelow(folder string) (metrics []row, err error) {
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "metrics.go" {
			return err
		}
		file, err := parse(path)
		if err != nil {
			return err
		}
		metrics = append(metrics, metricsOf(file)...)
		return nil
	})
	return metrics, err
}

func parse(path string) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
}

// table writes a section; rows that say the same stand once.
func table(text *strings.Builder, title string, head row, rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return slices.Compare(a, b) })
	rows = slices.CompactFunc(rows, func(a, b row) bool { return slices.Equal(a, b) })
	fmt.Fprintf(text, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, r := range rows {
		fmt.Fprintf(text, "| %s |\n", strings.ReplaceAll(strings.Join(r, " | "), "\n", " "))
	}
}
