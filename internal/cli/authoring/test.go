// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/suite"
	"evenkeel.dev/evenkeel/internal/suite/gator"
)

// testOptions are the flags of test.
type testOptions struct {
	coverage float64
	run      string
	watch    bool
	rego     command.RegoTree
	chosen   *regexp.Regexp
}

func newTestCommand() *cobra.Command {
	o := &testOptions{}
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Run the unit tests and examples of a directory of policies",
		Long: `Test runs the Rego unit tests and the examples of every policy at and below DIR.
An example's verdict must be as it says; a fix must resolve the violation, fixing twice
must change nothing, and no other policy of DIR may find something new in what is fixed.
Each failure is printed with its file and what was expected, then the share of the
lines that the unit tests reach, by file; the last line counts. It ends with code 1
when something failed, and with code 2 when it was called wrongly.

The Suite files of Gatekeeper's gator at and below DIR are run as they are: what the
ConstraintTemplate and the constraint of each test find, migrated as by "evenkeel migrate
gatekeeper", is held against its assertions.

--run chooses by a regular expression: of the unit tests those in whose name,
data.PACKAGE.NAME, it is found, of the examples POLICY/NAME, and of suites TEST/CASE. --watch runs them again
whenever a file changes, until it is interrupted.`,
		Example: `  evenkeel test policies/security/host_namespaces
  evenkeel test policies --run host-namespaces/
  evenkeel test policies/security --watch`,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.chosen, err = chosenBy(o.run); err != nil {
				return err
			}
			if o.watch {
				return o.watchTests(cmd.Context(), cmd.OutOrStdout(), args[0])
			}
			return o.runTests(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	cmd.Flags().Float64Var(&o.coverage, "min-coverage", 100,
		"least share of the lines of Rego, in percent, that the unit tests must reach")
	cmd.Flags().StringVar(&o.run, "run", "",
		"run only the unit tests and examples in whose name this regular expression is found; coverage isn't asked for")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "run the tests again whenever a file changes")
	o.rego.AddFlags(cmd.Flags())
	command.TakesDirectory(cmd)
	return cmd
}

// chosenBy is the expression of --run, or nil.
func chosenBy(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil //nolint:nilnil // nothing is chosen, and that is no error
	}
	chosen, err := regexp.Compile(pattern)
	if err != nil {
		return nil, command.Exit(command.ExitUsage, fmt.Errorf("--run: %w", err))
	}
	return chosen, nil
}

func (o *testOptions) runTests(ctx context.Context, out io.Writer, dir string) error {
	tree, err := o.rego.Open(dir)
	if err != nil {
		return err
	}
	report, err := o.report(ctx, tree, dir)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, failure := range report.Failures {
		failure.File = tree.Path(failure.File)
		fmt.Fprintln(&text, failure)
	}
	command.WarnOf(&text, tree, report.Policies)
	if o.chosen == nil && len(report.Files) > 0 {
		printCoverage(&text, tree, report)
	}
	skipped := ""
	if report.Skipped > 0 {
		skipped = fmt.Sprintf(", %d skipped", report.Skipped)
	}
	fmt.Fprintf(&text, "%d passed, %d failed%s\n", report.Passed, len(report.Failures), skipped)
	if _, err := out.Write(text.Bytes()); err != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("print the outcome: %w", err))
	}
	switch {
	case !report.OK():
		return command.Exit(command.ExitFailed, errors.New("not everything holds: see above"))
	case o.chosen != nil && report.Passed == 0:
		return command.Exit(command.ExitFailed, fmt.Errorf("--run %s chooses no unit test and no example", o.run))
	}
	return nil
}

func (o *testOptions) report(ctx context.Context, tree directory.Tree, dir string) (*suite.Report, error) {
	options := suite.Options{MinCoverage: o.coverage, Run: o.chosen}
	gators := &suite.Report{}
	suites, err := gator.Run(ctx, tree.FS, tree.Root, options, gators)
	if err != nil {
		return nil, command.Exit(command.ExitFailed, err)
	}
	if policy, err := directory.HoldsPolicy(dir); err == nil && !policy && suites > 0 {
		return gators, nil
	}
	report, err := suite.Run(ctx, tree.FS, tree.Root, options)
	if err != nil {
		return nil, command.Exit(command.ExitFailed, tree.Located(err))
	}
	report.Passed, report.Skipped = report.Passed+gators.Passed, gators.Skipped
	report.Failures = append(report.Failures, gators.Failures...)
	return report, nil
}

func printCoverage(out io.Writer, tree directory.Tree, report *suite.Report) {
	width := 0
	for _, file := range report.Files {
		width = max(width, len(prose.Shown(tree.Path(file.File))))
	}
	for _, file := range report.Files {
		fmt.Fprintf(out, "%-*s  %5.1f %%  %d of %s\n", width, prose.Shown(tree.Path(file.File)), file.Percent(),
			file.Reached, prose.Count(file.Rows, "line"))
	}
	fmt.Fprintf(out, "coverage %.1f %%\n", report.Coverage)
}
