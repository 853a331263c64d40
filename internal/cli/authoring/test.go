// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/suite"
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

--run chooses by a regular expression: of the unit tests those in whose name,
data.PACKAGE.NAME, it is found, and of the examples POLICY/NAME. --watch runs them again
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
	report, err := suite.Run(ctx, tree.FS, tree.Root, suite.Options{MinCoverage: o.coverage, Run: o.chosen})
	if err != nil {
		return command.Exit(command.ExitFailed, tree.Located(err))
	}
	for _, failure := range report.Failures {
		failure.File = tree.Path(failure.File)
		fmt.Fprintln(out, failure)
	}
	if o.chosen == nil {
		printCoverage(out, tree, report)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", report.Passed, len(report.Failures))
	switch {
	case !report.OK():
		return command.Exit(command.ExitFailed, errors.New("not everything holds: see above"))
	case o.chosen != nil && report.Passed == 0:
		return command.Exit(command.ExitFailed, fmt.Errorf("--run %s chooses no unit test and no example", o.run))
	}
	return nil
}

// printCoverage prints the share of the lines that unit tests reach, by file.
func printCoverage(out io.Writer, tree directory.Tree, report *suite.Report) {
	width := 0
	for _, file := range report.Files {
		width = max(width, len(tree.Path(file.File)))
	}
	for _, file := range report.Files {
		fmt.Fprintf(out, "%-*s  %5.1f %%  %d of %d lines\n", width, tree.Path(file.File), file.Percent(), file.Reached,
			file.Rows)
	}
	fmt.Fprintf(out, "coverage %.1f %%\n", report.Coverage)
}
