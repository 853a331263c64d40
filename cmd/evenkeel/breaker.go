package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func newBreakerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "breaker",
		Short: "Show and reset circuit breakers, and pull the kill switch",
		Long: `Breaker shows the circuit breakers that stop automated writes, holds one open, lets
go of it, and lets one start afresh that opened by itself. "evenkeel breaker open
global" is the kill switch: no new write begins anywhere; rollbacks go on.`,
	}
	takesCommand(cmd)
	flags := takesCluster(cmd)
	cmd.AddCommand(newBreakerListCommand(flags),
		newBreakerForceCommand(flags, "open", "Hold a breaker open: the kill switch", v1alpha1.BreakerOpen),
		newBreakerForceCommand(flags, "close", "Let go of a breaker that a person held open", ""),
		newBreakerResetCommand(flags))
	return cmd
}

func newBreakerListCommand(flags *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"get", "ls"},
		Short:   "List the circuit breakers",
		Args:    takesArguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := flags.client()
			if err != nil {
				return err
			}
			return printBreakers(cmd.Context(), c, cmd.OutOrStdout())
		},
	}
}

func printBreakers(ctx context.Context, c client.Reader, out io.Writer) error {
	list := &v1alpha1.CircuitBreakerList{}
	if err := c.List(ctx, list); err != nil {
		return failure("list circuit breakers", err)
	}
	if len(list.Items) == 0 {
		_, err := fmt.Fprintln(out, "No circuit breakers: the manager makes the global one when it starts.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tSCOPE\tSTATE\tREASON\tFAILED\tNEXT PROBE\tMESSAGE")
	for _, cb := range list.Items {
		state, reason, message := cb.Status.State, cb.Status.Reason, cb.Status.Message
		if state == "" {
			state = v1alpha1.BreakerClosed
		}
		if cb.Spec.Forced != "" {
			state, reason, message = v1alpha1.BreakerOpen, "Forced", "held open by a person: evenkeel breaker close "+cb.Name
		}
		probe := "-"
		if cb.Status.NextProbeAt != nil {
			probe = cb.Status.NextProbeAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d of %d\t%s\t%s\n", cb.Name, cb.Spec.Scope.Type, state, reason, cb.Status.Failures, cb.Status.Outcomes, probe, message)
	}
	return table.Flush()
}

// breaker reads a circuit breaker that is to be changed through the client.
func (f *clusterFlags) breaker(ctx context.Context, name string) (client.Client, *v1alpha1.CircuitBreaker, error) {
	c, err := f.client()
	if err != nil {
		return nil, nil, err
	}
	cb := &v1alpha1.CircuitBreaker{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, cb); err != nil {
		return nil, nil, failure("read circuit breaker "+name, err)
	}
	return c, cb, nil
}

func newBreakerForceCommand(flags *clusterFlags, word, short string, forced v1alpha1.BreakerState) *cobra.Command {
	return &cobra.Command{
		Use:     word + " NAME",
		Short:   short,
		Example: "  evenkeel breaker " + word + " global",
		Args:    takesArguments(1, 1, "circuit breaker; see evenkeel breaker list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, cb, err := flags.breaker(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var value any
			done := "is no longer held open; its own state is " + string(cb.Status.State)
			if forced != "" {
				value, done = forced, "is held open: no new write begins in its scope; rollbacks go on"
			}
			if err := patch(cmd.Context(), c, cb, map[string]any{"spec": map[string]any{"forced": value}}); err != nil {
				return failure("change circuit breaker "+cb.Name, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "circuit breaker %s %s\n", cb.Name, done)
			return err
		},
	}
}
