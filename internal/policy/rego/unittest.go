// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
)

// testSuffix marks the modules that hold tests; coverage doesn't count them.
const testSuffix = "_test.rego"

// TestResult is the outcome of one Rego unit test.
type TestResult struct {
	Package, Name string
	File          string
	Row           int
	// One of Pass and Fail is set, or Error. A skipped test has none of them.
	Pass, Fail bool
	// Error is why the test couldn't run to its end.
	Error error
	// Output is what the test printed.
	Output string
}

// Coverage says which rows of the non-test modules the tests reached.
type Coverage struct {
	// Percent is the share of the rows, 0 to 100.
	Percent float64
	// Files has the same for each module, sorted by name.
	Files []FileCoverage
}

// FileCoverage counts the rows of a module that can be reached, and those that were.
type FileCoverage struct {
	File          string
	Rows, Reached int
	// Uncovered are the rows that no test reached, in order.
	Uncovered []int
}

// RunTests runs the Rego unit tests (rules named test_…) of modules, which map
// file names to sources; where a pattern, a regular expression, is given, only those
// whose full name (data.package.test_name) it is found in. Modules are held to the same rules as
// Compile holds a policy to; a module that breaks them is a *CompileError.
func RunTests(ctx context.Context, modules map[string]string, version v1alpha1.RegoVersion, pattern string) (
	[]TestResult, Coverage, error,
) {
	parsed, err := parseAll(modules, version)
	if err != nil {
		return nil, Coverage{}, err
	}
	store := inmem.New()
	txn, err := store.NewTransaction(ctx, storage.TransactionParams{})
	if err != nil {
		return nil, Coverage{}, fmt.Errorf("open the tests' store: %w", err)
	}
	defer store.Abort(ctx, txn)

	reached := cover.New()
	channel, err := tester.NewRunner().
		SetCompiler(compile.NewCompiler(version).WithEnablePrintStatements(true)).
		SetStore(store).
		SetModules(parsed).
		RaiseBuiltinErrors(true).
		CapturePrintOutput(true).
		SetCoverageQueryTracer(reached).
		SetCoverageRuns(nil).
		Filter(pattern).
		RunTests(ctx, txn)
	if err != nil {
		var list ast.Errors
		if errors.As(err, &list) {
			return nil, Coverage{}, &compile.Error{Problems: compile.ProblemsOf(list, "")}
		}
		return nil, Coverage{}, fmt.Errorf("run the tests: %w", err)
	}
	var results []TestResult
	for result := range channel {
		results = append(results, testResult(result))
	}
	slices.SortFunc(results, func(a, b TestResult) int {
		return slices.Compare([]string{a.Package, a.Name, a.File}, []string{b.Package, b.Name, b.File})
	})
	return results, covered(reached, parsed), nil
}

func parseAll(modules map[string]string, version v1alpha1.RegoVersion) (map[string]*ast.Module, error) {
	sources := make([]v1alpha1.RegoLibrary, 0, len(modules))
	for file, source := range modules {
		sources = append(sources, v1alpha1.RegoLibrary{Name: file, Source: source})
	}
	slices.SortFunc(sources, func(a, b v1alpha1.RegoLibrary) int { return strings.Compare(a.Name, b.Name) })
	list, err := compile.Parse(sources, version)
	if err != nil {
		return nil, err
	}
	parsed := make(map[string]*ast.Module, len(list))
	for i, module := range list {
		parsed[sources[i].Name] = module
	}
	return parsed, nil
}

func testResult(result *tester.Result) TestResult {
	converted := TestResult{
		Package: strings.TrimPrefix(result.Package, "data."),
		Name:    result.Name,
		Pass:    result.Pass(),
		Fail:    result.Fail && result.Error == nil,
		Error:   result.Error,
		Output:  string(result.Output),
	}
	if result.Error != nil {
		if help := compile.EvaluationHelp(result.Error.Error()); help != "" {
			converted.Error = fmt.Errorf("%w\n  help: %s", result.Error, help)
		}
	}
	if result.Location != nil {
		converted.File, converted.Row = result.Location.File, result.Location.Row
	}
	return converted
}

func covered(reached *cover.Cover, modules map[string]*ast.Module) Coverage {
	counted := make(map[string]*ast.Module, len(modules))
	for file, module := range modules {
		if !strings.HasSuffix(file, testSuffix) {
			counted[file] = module
		}
	}
	var total FileCoverage
	var out Coverage
	report := reached.Report(counted)
	for _, file := range slices.Sorted(maps.Keys(counted)) {
		fileReport := report.Files[file]
		if fileReport == nil {
			continue
		}
		counts := FileCoverage{File: file, Rows: fileReport.CoveredLines + fileReport.NotCoveredLines,
			Reached: fileReport.CoveredLines}
		for _, missed := range fileReport.NotCovered {
			for row := missed.Start.Row; row <= missed.End.Row; row++ {
				counts.Uncovered = append(counts.Uncovered, row)
			}
		}
		out.Files = append(out.Files, counts)
		total.Rows, total.Reached = total.Rows+counts.Rows, total.Reached+counts.Reached
	}
	out.Percent = total.Percent()
	return out
}

// Percent is the share of the rows that were reached, 0 to 100.
func (c FileCoverage) Percent() float64 {
	if c.Rows == 0 {
		return 100
	}
	return 100 * float64(c.Reached) / float64(c.Rows)
}
