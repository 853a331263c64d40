// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

func newOpenCommand(flags *connect.Flags) *cobra.Command {
	end, reason := request.End{Of: "the hold of a breaker"}, ""
	cmd := &cobra.Command{
		Use:   "open NAME [--for DURATION | --until TIME]",
		Short: "Hold a breaker open, for good or until a set time: the kill switch",
		Long: `Open holds a breaker open: no new write begins in its scope. What is in flight is verified
and undone as ever; a breaker's own state is kept, and counts again once nobody holds it open. With
--for or --until that ends by itself; without either it lasts until "evenkeel breaker close". To change the
end, open it again.

It needs the verb open on the breaker; an earlier end than before, or one where there was none, lets go
of it in part and needs the verb reset. Your user name is recorded with the reason.`,
		Example: `  evenkeel breaker open global --reason "INC-42"
  evenkeel breaker open policy-privileged-containers --for 2h --reason "INC-42"`,
		Args: command.TakesArguments(1, 1, "circuit breaker; see evenkeel breaker list"),
	}
	end.Takes(cmd)
	request.TakesReason(cmd, &reason)
	connect.Completes(cmd, flags, breakerNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		until, err := end.Time(time.Now())
		if err != nil {
			return command.WronglyCalled(cmd, err)
		}
		c, err := flags.Client()
		if err != nil {
			return err
		}
		if err := makeBreaker(cmd.Context(), c, args[0]); err != nil {
			return err
		}
		said, err := hold(cmd.Context(), c, args[0], until, reason)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
		return err
	}
	return cmd
}

// hold holds a breaker open until a time; nil for good.
func hold(ctx context.Context, c client.Client, name string, until *metav1.Time, reason string) (string, error) {
	cb, err := askMode(ctx, c, name, v1alpha1.BreakerForcedOpen, until, reason)
	if err != nil {
		return "", err
	}
	if !cb.Spec.ForcedOpenUntilTime.Equal(until) {
		return "", command.Exit(command.ExitFailed, fmt.Errorf("circuit breaker %[1]s is held open, and without an "+
			"end: the CustomResourceDefinition remediationbreakers.evenkeel.dev is of an older version and has "+
			"dropped it; see: evenkeel doctor. To release it: evenkeel breaker close %[1]s", name))
	}
	return fmt.Sprintf("circuit breaker %s is held open%s: no new write begins in its scope; rollbacks go on", name,
		v1alpha1.UntilText(until)), nil
}

func newCloseCommand(flags *connect.Flags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "close NAME",
		Short: "Release a breaker that a person held open",
		Long: `Close releases a breaker that a person held open. Its own state was kept meanwhile, and
counts again. It needs the verb reset on the breaker; your user name is recorded with the reason.`,
		Example: `  evenkeel breaker close global --reason "INC-42 is over"`,
		Args:    command.TakesArguments(1, 1, "circuit breaker; see evenkeel breaker list"),
	}
	request.TakesReason(cmd, &reason)
	connect.Completes(cmd, flags, breakerNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := flags.Client()
		if err != nil {
			return err
		}
		cb, err := askMode(cmd.Context(), c, args[0], v1alpha1.BreakerAutomatic, nil, reason)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "circuit breaker %s is no longer held open; its own state is %s\n",
			cb.Name, cb.Status.State)
		return err
	}
	return cmd
}

// askMode asks for a mode of a breaker, which may end by itself.
func askMode(ctx context.Context, c client.Client, name string, mode v1alpha1.BreakerMode, until *metav1.Time,
	reason string) (*v1alpha1.RemediationBreaker, error) {
	cb, err := findBreaker(ctx, c, name)
	if err != nil {
		return nil, err
	}
	change := request.SpecUntil("mode", mode, "forcedOpenUntilTime", until, reason)
	if err := request.Patch(ctx, c, cb, change); err != nil {
		return nil, connect.Failure("change circuit breaker "+cb.Name, err)
	}
	return cb, nil
}
