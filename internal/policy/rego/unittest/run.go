// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"errors"
	"fmt"
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

// Result is the outcome of one Rego unit test.
type Result struct {
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

// Position is a row of a module.
type Position struct {
	File string
	Row  int
}

// String is file:row.
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Row) }

// Run runs the Rego unit tests (rules named test_…) of modules, which map
// file names to sources. coverage is the share of rows of the non-test modules
// that the tests reached, 0 to 100, and uncovered the rows that they didn't.
// Modules are held to the same rules as Compile holds a policy to; a module that
// breaks them is a *compile.Error.
func Run(ctx context.Context, modules map[string]string, version v1alpha1.RegoVersion) (
	results []Result, coverage float64, uncovered []Position, err error,
) {
	parsed, err := parseAll(modules, version)
	if err != nil {
		return nil, 0, nil, err
	}
	store := inmem.New()
	txn, err := store.NewTransaction(ctx, storage.TransactionParams{})
	if err != nil {
		return nil, 0, nil, fmt.Errorf("open the tests' store: %w", err)
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
		RunTests(ctx, txn)
	if err != nil {
		var list ast.Errors
		if errors.As(err, &list) {
			return nil, 0, nil, &compile.Error{Problems: compile.ProblemsOf(list, "")}
		}
		return nil, 0, nil, fmt.Errorf("run the tests: %w", err)
	}
	for result := range channel {
		results = append(results, testResult(result))
	}
	slices.SortFunc(results, func(a, b Result) int {
		return slices.Compare([]string{a.Package, a.Name, a.File}, []string{b.Package, b.Name, b.File})
	})
	coverage, uncovered = covered(reached, parsed)
	return results, coverage, uncovered, nil
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

func testResult(result *tester.Result) Result {
	converted := Result{
		Package: strings.TrimPrefix(result.Package, "data."),
		Name:    result.Name,
		Pass:    result.Pass(),
		Fail:    result.Fail && result.Error == nil,
		Error:   result.Error,
		Output:  string(result.Output),
	}
	if result.Location != nil {
		converted.File, converted.Row = result.Location.File, result.Location.Row
	}
	return converted
}

func covered(reached *cover.Cover, modules map[string]*ast.Module) (float64, []Position) {
	counted := make(map[string]*ast.Module, len(modules))
	for file, module := range modules {
		if !strings.HasSuffix(file, testSuffix) {
			counted[file] = module
		}
	}
	var rows, rowsReached int
	var uncovered []Position
	report := reached.Report(counted)
	for file := range counted {
		fileReport := report.Files[file]
		if fileReport == nil {
			continue
		}
		rows += fileReport.CoveredLines + fileReport.NotCoveredLines
		rowsReached += fileReport.CoveredLines
		for _, missed := range fileReport.NotCovered {
			for row := missed.Start.Row; row <= missed.End.Row; row++ {
				uncovered = append(uncovered, Position{File: file, Row: row})
			}
		}
	}
	slices.SortFunc(uncovered, func(a, b Position) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Row - b.Row
	})
	uncovered = slices.Compact(uncovered)
	if rows == 0 {
		return 100, uncovered
	}
	return 100 * float64(rowsReached) / float64(rows), uncovered
}
