// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

func newHistoryCommand(flags *connect.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "Say who held circuit breakers open, let go of them or reset them, and why",
		Long: `History lists what people have asked of circuit breakers, or of one: when, who and why, the
latest ten of each. What a breaker did by itself is in its events and in
the metrics.`,
		Example: `  evenkeel breaker history
  evenkeel breaker history global`,
		Args: command.TakesArguments(0, 1, "circuit breaker; see evenkeel breaker list"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := flags.Client()
		if err != nil {
			return err
		}
		if len(args) == 1 {
			cb, err := findBreaker(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return printHistory([]v1alpha1.RemediationBreaker{*cb}, cmd.OutOrStdout())
		}
		list := &v1alpha1.RemediationBreakerList{}
		if err := c.List(cmd.Context(), list); err != nil {
			return connect.Failure("list circuit breakers", err)
		}
		return printHistory(list.Items, cmd.OutOrStdout())
	}
	connect.Completes(cmd, flags, breakerNames)
	return cmd
}

// printHistory lists what people have asked of the breakers.
func printHistory(breakers []v1alpha1.RemediationBreaker, out io.Writer) error {
	var acts []request.Act
	for i := range breakers {
		acts = append(acts, request.ActsOf(breakers[i].Name, breakers[i].Spec.Requests)...)
	}
	if len(acts) == 0 {
		_, err := fmt.Fprintln(out, "Nobody has held a circuit breaker open or reset one.")
		return err
	}
	return request.PrintActs(out, "BREAKER", acts)
}
