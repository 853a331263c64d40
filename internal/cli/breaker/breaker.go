// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
)

// NewCommand is the command breaker, with those below it.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "breaker",
		Short: "Show and reset circuit breakers, and pull the kill switch",
		Long: `Breaker shows the circuit breakers that stop automated writes, holds one open, lets
go of it, lets one start afresh that opened by itself, and says who did so. "evenkeel breaker open
global" is the kill switch: no new write begins anywhere; rollbacks go on.`,
	}
	command.TakesCommand(cmd)
	flags := connect.TakesCluster(cmd)
	cmd.AddCommand(newListCommand(flags),
		newOpenCommand(flags), newCloseCommand(flags), newResetCommand(flags), newHistoryCommand(flags))
	return cmd
}

func newListCommand(flags *connect.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"get", "ls"},
		Short:   "List the circuit breakers",
		Long: `List shows the circuit breakers, open ones with what they wait for: a person who
holds them open, and until when, or the time of the next probe.`,
		Example: `  evenkeel breaker list
  evenkeel breaker list -o yaml`,
		Args: command.TakesArguments(0, 0, ""),
	}
	o := output.Takes(cmd, output.JSON, output.YAML, output.Name)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.Check(cmd); err != nil {
			return err
		}
		c, err := flags.Client()
		if err != nil {
			return err
		}
		list := &v1alpha1.RemediationBreakerList{}
		if err := c.List(cmd.Context(), list); err != nil {
			return connect.Failure("list circuit breakers", err)
		}
		return o.Objects(cmd.OutOrStdout(), list, func(out io.Writer) error {
			return printBreakers(list.Items, time.Now(), out)
		})
	}
	return cmd
}

func printBreakers(list []v1alpha1.RemediationBreaker, now time.Time, out io.Writer) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "No circuit breakers: the manager makes the global one when it starts.")
		return err
	}
	table := output.Columns(out, "NAME", "SCOPE", "STATE", "REASON", "FAILED", "NEXT PROBE", "MESSAGE")
	for _, cb := range list {
		state, reason, message := breakerState(&cb, now)
		probe := "-"
		if cb.Status.NextProbeTime != nil {
			probe = cb.Status.NextProbeTime.UTC().Format(time.RFC3339)
		}
		output.Row(table, cb.Name, string(cb.Spec.Scope.Type), string(state), reason,
			fmt.Sprintf("%d of %d", cb.Status.Failures, cb.Status.Outcomes), probe, message)
	}
	return table.Flush()
}

// breakerState is a breaker's state at a time as it counts: a person's word is above its own.
func breakerState(cb *v1alpha1.RemediationBreaker, now time.Time) (state v1alpha1.BreakerState,
	reason, message string) {
	if cb.Spec.ForcedOpen(now) {
		return v1alpha1.BreakerOpen, string(v1alpha1.BreakerForcedOpen),
			fmt.Sprintf("held open by a person%s (%s): evenkeel breaker close %s",
				v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime), cb.ForcedBy(), cb.Name)
	}
	return cmp.Or(cb.Status.State, v1alpha1.BreakerClosed), cb.Status.Reason, cb.Status.Message
}

// findBreaker reads a circuit breaker that is to be changed.
func findBreaker(ctx context.Context, c client.Reader, name string) (*v1alpha1.RemediationBreaker, error) {
	cb := &v1alpha1.RemediationBreaker{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, cb)
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w; those that are there: evenkeel breaker list", err)
	}
	if err != nil {
		return nil, connect.Failure("read circuit breaker "+name, err)
	}
	return cb, nil
}

// breakerNames lists the breakers, for the completion of a name.
func breakerNames(ctx context.Context, c client.Reader) ([]string, error) {
	list := &v1alpha1.RemediationBreakerList{}
	return connect.Listed(ctx, c, list, func() (out []string) {
		for _, cb := range list.Items {
			state, reason, _ := breakerState(&cb, time.Now())
			out = append(out, fmt.Sprintf("%s\tRemediationBreaker, %s %s", cb.Name, state, reason))
		}
		return out
	})
}
