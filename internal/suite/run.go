// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// Options tune a run.
type Options struct {
	// MinCoverage is the least share of lines, 0 to 100, that the unit tests
	// must reach in each file at and below the root.
	MinCoverage float64
	// Engine evaluates the rules for the examples. Default: rego.CompiledEngine.
	Engine rego.Engine
	// Run chooses: only unit tests and examples in whose name it is found are run, a unit
	// test's being data.PACKAGE.NAME and an example's POLICY/NAME. Coverage isn't asked
	// for then. Nil runs all.
	Run *regexp.Regexp
}

// Runs says whether a unit test, an example or a case of this name is chosen.
func (o Options) Runs(name string) bool { return o.Run == nil || o.Run.MatchString(name) }

// Run tests every policy at and below root: its unit tests, and its examples. The
// libraries at root are tested too. It fails with a *directory.Error when the
// policies can't be loaded, and with any other error when files can't be read.
func Run(ctx context.Context, fsys fs.FS, root string, opts Options) (*Report, error) {
	policies, err := directory.LoadLocated(fsys, root)
	if err != nil {
		return nil, err
	}
	report := &Report{Policies: policies}
	if err := runUnitTests(ctx, fsys, root, policies, opts, report); err != nil {
		return nil, err
	}
	others, err := newNeighbours(policies, opts.Engine)
	if err != nil {
		return nil, err
	}
	for _, p := range policies {
		runExamples(ctx, fsys, p, others, opts, report)
	}
	slices.SortStableFunc(report.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return report, nil
}

func runExamples(ctx context.Context, fsys fs.FS, p directory.Located, others *neighbours, opts Options,
	report *Report) {
	file := path.Join(p.Dir, ExamplesFile)
	examples, err := readExamples(fsys, p.Dir)
	var wrong *directory.Error
	if errors.As(err, &wrong) {
		for _, problem := range wrong.Problems {
			report.Record([]Failure{{File: file, Line: problem.Line, Subject: "examples",
				Expected: "examples that can be run", Got: problem.Message}})
		}
		return
	}
	for i := range examples {
		if opts.Runs(p.Definition.Name + "/" + examples[i].Name) {
			report.Record(prove(ctx, file, p.Definition, opts.Engine, others, &examples[i]))
		}
	}
}

// runUnitTests runs all Rego tests together, so that a library is covered by
// whoever uses it. Those of the shared library run along for their coverage; what
// they find counts only when the root holds them.
func runUnitTests(ctx context.Context, fsys fs.FS, root string, policies []directory.Located, opts Options,
	report *Report) error {
	modules, err := testedModules(fsys, root, policies, report)
	if err != nil {
		return err
	}
	pattern := ""
	if opts.Run != nil {
		pattern = opts.Run.String()
	}
	results, covered, err := rego.RunTests(ctx, modules, v1alpha1.RegoV1, pattern)
	var refused *rego.CompileError
	if errors.As(err, &refused) {
		for _, problem := range refused.Problems {
			report.Record([]Failure{
				{File: problem.File, Line: problem.Row, Subject: "compile the tests", Expected: "Rego that compiles",
					Got: problem.Text()}})
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("run the unit tests below %s: %w", root, err)
	}
	for _, result := range results {
		if below(root, result.File) {
			report.Record(outcome(result))
		}
	}
	recordCoverage(root, covered, opts, report)
	return nil
}

func testedModules(fsys fs.FS, root string, policies []directory.Located, report *Report) (map[string]string, error) {
	modules, err := readModules(fsys, directory.LibraryDir, root)
	if err != nil {
		return nil, err
	}
	for _, p := range policies {
		if modules[testFile(p.Dir)] == "" {
			report.Record([]Failure{
				{File: testFile(p.Dir), Subject: "unit tests", Expected: "Rego unit tests",
					Got: "no such file, or an empty one"}})
		}
		for _, m := range p.Definition.Spec.Rego.Modules() {
			modules[m.Name] = m.Source
		}
	}
	return modules, nil
}

// recordCoverage keeps what the tests cover; too little is a failure, unless only some ran.
func recordCoverage(root string, covered rego.Coverage, opts Options, report *Report) {
	report.Coverage = covered.Percent
	for _, file := range covered.Files {
		if below(root, file.File) {
			report.Files = append(report.Files, file)
		}
	}
	if covered.Percent < opts.MinCoverage && opts.Run == nil {
		recordUncovered(opts, report)
	}
}

// readModules reads all Rego at and below the roots, tests too. A root that
// doesn't exist has none.
func readModules(fsys fs.FS, roots ...string) (map[string]string, error) {
	modules := map[string]string{}
	for _, root := range roots {
		err := fs.WalkDir(fsys, root, func(at string, entry fs.DirEntry, err error) error {
			switch {
			case at == root && errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil || entry.IsDir() || !strings.HasSuffix(at, ".rego"):
				return err
			}
			text, err := directory.ReadFile(fsys, at)
			modules[at] = string(text)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the tests below %s: %w", root, err)
		}
	}
	return modules, nil
}

func below(root, file string) bool { return root == "." || strings.HasPrefix(file, root+"/") }

func testFile(dir string) string { return path.Join(dir, path.Base(dir)+"_test.rego") }

func outcome(result rego.TestResult) []Failure {
	if result.Pass {
		return nil
	}
	failure := Failure{File: result.File, Line: result.Row, Subject: result.Package + "." + result.Name,
		Expected: "true"}
	switch {
	case result.Error != nil:
		failure.Got = result.Error.Error()
	case result.Fail:
		failure.Got = strings.TrimSpace("false or undefined\n" + result.Output)
	default:
		failure.Got = "skipped: a test that doesn't run proves nothing"
	}
	return []Failure{failure}
}

// recordUncovered makes one failure of each file at or below root that has lines
// which no test reaches. Libraries from elsewhere are tested elsewhere.
func recordUncovered(opts Options, report *Report) {
	for _, file := range report.Files {
		if len(file.Uncovered) == 0 {
			continue
		}
		lines := strings.Trim(strings.ReplaceAll(fmt.Sprint(file.Uncovered), " ", ", "), "[]")
		report.Record([]Failure{{
			File:    file.File,
			Subject: "coverage",
			Expected: fmt.Sprintf("%.0f %% of the lines reached by unit tests (here %.1f %%)", opts.MinCoverage,
				report.Coverage),
			Got: "no test reaches line " + lines,
		}})
	}
}
