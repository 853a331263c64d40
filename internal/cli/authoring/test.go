// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/suite"
)

func newTestCommand() *cobra.Command {
	var coverage float64
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Run the unit tests and examples of a directory of policies",
		Long: `Test runs the Rego unit tests and the examples of every policy at and below DIR.
An example's verdict must be as it says; a fix must resolve the violation, and fixing twice must
change nothing. Each failure is printed with its file and what was expected; the
last line counts. It ends with code 1 when something failed, and with code 2 when
it was called wrongly.`,
		Example:      `  evenkeel test policies/security/host_namespaces`,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTests(cmd.Context(), cmd.OutOrStdout(), args[0], coverage)
		},
	}
	cmd.Flags().Float64Var(&coverage, "min-coverage", 100,
		"least share of the lines of Rego, in percent, that the unit tests must reach")
	command.TakesDirectory(cmd)
	return cmd
}

func runTests(ctx context.Context, out io.Writer, dir string, coverage float64) error {
	tree, err := directory.Open(dir)
	if err != nil {
		return command.Exit(command.ExitUsage, err)
	}
	report, err := suite.Run(ctx, tree.FS, tree.Root, suite.Options{MinCoverage: coverage})
	if err != nil {
		return command.Exit(command.ExitFailed, tree.Located(err))
	}
	for _, failure := range report.Failures {
		failure.File = tree.Path(failure.File)
		fmt.Fprintln(out, failure)
	}
	fmt.Fprintf(out, "coverage %.1f %%\n", report.Coverage)
	fmt.Fprintf(out, "%d passed, %d failed\n", report.Passed, len(report.Failures))
	if !report.OK() {
		return command.Exit(command.ExitFailed, errors.New("not everything holds: see above"))
	}
	return nil
}
