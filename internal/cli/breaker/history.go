// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

func newHistoryCommand(flags *connect.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "Show who forced open, released or reset circuit breakers, and why",
		Long: `History lists what people have asked of circuit breakers, or of one: when, who and why, the
latest ten of each. What a breaker did by itself is in its events and in
the metrics. -o json and yaml print the breakers whole: what was asked for is in the
annotation evenkeel.dev/requests.`,
		Example: `  evenkeel breaker history
  evenkeel breaker history global
  evenkeel breaker history -o json`,
		Args: command.TakesArguments(0, 1, "circuit breaker; see evenkeel breaker list"),
	}
	o := output.Takes(cmd, output.JSON, output.YAML, output.Name)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Check(cmd); err != nil {
			return err
		}
		c, err := flags.Client()
		if err != nil {
			return err
		}
		return history(cmd.Context(), c, args, o, cmd.OutOrStdout())
	}
	connect.Completes(cmd, flags, breakerNames)
	return cmd
}

// history prints what people have asked of the breaker that the arguments name, or of all.
func history(ctx context.Context, c client.Reader, args []string, o *output.Flag, to io.Writer) error {
	list := &v1alpha1.RemediationBreakerList{}
	if len(args) == 1 {
		cb, err := findBreaker(ctx, c, args[0])
		if err != nil {
			return err
		}
		list.Items = append(list.Items, *cb)
	} else if err := c.List(ctx, list); err != nil {
		return connect.Failure("list circuit breakers", err)
	}
	return o.Objects(to, list, func(out io.Writer) error { return printHistory(list.Items, out) })
}

// printHistory lists what people have asked of the breakers.
func printHistory(breakers []v1alpha1.RemediationBreaker, out io.Writer) error {
	return request.PrintActsOf(out, "BREAKER", "Nobody has held a circuit breaker open or reset one.", breakers,
		func(b *v1alpha1.RemediationBreaker) (string, []v1alpha1.RequestRecord) {
			return b.Name, v1alpha1.Requests(b)
		})
}
