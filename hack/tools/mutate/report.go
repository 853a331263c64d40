// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// tally counts what became of the mutants of one package.
type tally struct {
	dir                                           string
	killed, lived, timedOut, notCovered, notBuilt int
}

func count(dir string, mutants []mutant) tally {
	t := tally{dir: dir}
	for _, m := range mutants {
		switch m.Status {
		case killed:
			t.killed++
		case lived:
			t.lived++
		case timedOut:
			t.timedOut++
		case notCovered:
			t.notCovered++
		case unbuilt:
			t.notBuilt++
		}
	}
	return t
}

// plus adds two tallies up.
func (t tally) plus(u tally) tally {
	return tally{t.dir, t.killed + u.killed, t.lived + u.lived, t.timedOut + u.timedOut, t.notCovered + u.notCovered,
		t.notBuilt + u.notBuilt}
}

// score is the percentage of mutants that tests noticed, among those that they reach. A mutant that keeps tests from
// ending is on neither side: it may be noticed, or the machine was slow.
func (t tally) score() float64 { return percent(t.killed, t.lived) }

// coverage is the percentage of mutants that tests reach.
func (t tally) coverage() float64 { return percent(t.killed+t.lived+t.timedOut, t.notCovered) }

// percent is what a share is of both; of nothing, all is there.
func percent(share, rest int) float64 {
	if share+rest == 0 {
		return 100
	}
	return 100 * float64(share) / float64(share+rest)
}

// printMutants prints those that no test killed, each with its line.
func printMutants(out io.Writer, root, dir string, mutants []mutant) error {
	slices.SortFunc(mutants, func(a, b mutant) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Type, b.Type))
	})
	sources := map[string][]string{}
	for _, m := range mutants {
		if m.Status == killed || m.Status == unbuilt {
			continue
		}
		path := filepath.Join(dir, m.file)
		if sources[path] == nil {
			text, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				return fmt.Errorf("show a mutant: %w", err)
			}
			sources[path] = strings.Split(string(text), "\n")
		}
		line := sources[path][m.Line-1]
		fmt.Fprintf(out, "  %-11s %s:%d:%d: %s: %s\n", strings.ToLower(m.Status), path, m.Line, m.Column,
			m.change(line), strings.TrimSpace(line))
	}
	return nil
}

// change says what gremlins wrote where, for what stands there in a line.
func (m mutant) change(line string) string {
	is := ""
	for _, operator := range operators() {
		if m.Column <= len(line) && strings.HasPrefix(line[m.Column-1:], operator) {
			is = operator
			break
		}
	}
	became := map[string]map[string]string{
		"ARITHMETIC_BASE":       {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"},
		"CONDITIONALS_BOUNDARY": {"<": "<=", "<=": "<", ">": ">=", ">=": ">"},
		"CONDITIONALS_NEGATION": {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"},
		"INCREMENT_DECREMENT":   {"++": "--", "--": "++"},
		"INVERT_NEGATIVES":      {"-": "+"},
	}[m.Type][is]
	if became == "" {
		return m.Type
	}
	return is + " became " + became
}

// operators are those that gremlins changes, each before its beginning.
func operators() []string {
	return []string{"==", "!=", "<=", ">=", "++", "--", "<", ">", "+", "-", "*", "/", "%"}
}

// judge prints the scores, and is an error where one is too low.
func judge(out io.Writer, tallies []tally, o options) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nKILLED\tLIVED\tTIMED OUT\tNOT COVERED\tKILLED OF COVERED\tCOVERED\t\tPACKAGE")
	sum := tally{dir: "all"}
	var low []string
	for _, t := range tallies {
		sum = sum.plus(t)
		printTally(table, t)
		if t.score() < o.killed || t.coverage() < o.covered {
			low = append(low, t.dir)
		}
	}
	if len(tallies) > 1 {
		printTally(table, sum)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the scores: %w", err)
	}
	if len(low) > 0 {
		return fmt.Errorf("below %g %% killed or %g %% covered: %s", o.killed, o.covered, strings.Join(low, ", "))
	}
	return nil
}

func printTally(out io.Writer, t tally) {
	fmt.Fprintf(out, "%d\t%d\t%d\t%d\t%.1f %%\t%.1f %%\t\t%s\n", t.killed, t.lived, t.timedOut, t.notCovered, t.score(),
		t.coverage(), t.dir)
}
