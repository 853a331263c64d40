// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Failure is one test or example that didn't hold.
type Failure struct {
	// File is the path in the file system that was tested.
	File string
	// Line counts from 1; 0 when the failure is of the whole file.
	Line int
	// Subject names the test or example.
	Subject string
	// Expected and Got say what should have been and what was.
	Expected, Got string
}

// String is the failure over a few lines, the place first.
func (f Failure) String() string {
	place := prose.Shown(f.File)
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, f.Line)
	}
	return fmt.Sprintf("%s: %s\n  expected: %s\n  got:      %s", place, prose.OneLine(f.Subject), indent(f.Expected),
		indent(f.Got))
}

func indent(text string) string {
	return strings.ReplaceAll(prose.Lines(strings.TrimRight(text, "\n")), "\n", "\n            ")
}

// Report is the outcome of a run.
type Report struct {
	// Passed counts the tests and examples that held.
	Passed int
	// Skipped counts those that say that they are to be skipped.
	Skipped int
	// Failures are the others, in the order of their files. Lines that no test
	// reaches are one failure a file.
	Failures []Failure
	// Coverage is the share of the policies' and libraries' lines that the unit
	// tests reach, 0 to 100.
	Coverage float64
	// Policies are those that were tested.
	Policies []directory.Located
	// Files is the coverage of each file at and below the root.
	Files []rego.FileCoverage
}

// OK says that everything held.
func (r *Report) OK() bool { return len(r.Failures) == 0 }

// Record keeps the outcome of one test: what of it failed.
func (r *Report) Record(failures []Failure) {
	if len(failures) == 0 {
		r.Passed++
		return
	}
	r.Failures = append(r.Failures, failures...)
}
