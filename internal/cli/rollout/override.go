// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

// overrideOptions are the flags of rollout override-windows.
type overrideOptions struct {
	undo   bool
	reason string
}

func newOverrideCommand(flags *connect.Flags) *cobra.Command {
	o := overrideOptions{}
	cmd := &cobra.Command{
		Use:   "override-windows NAME --reason REASON",
		Short: "Let a rollout write although its windows are closed or a freeze lasts",
		Long: `Override-windows lets a rollout write while its maintenance windows are closed or a freeze
of the cluster lasts, for an emergency. It holds for this one plan, until it ends or the
override is taken back with --undo. Circuit breakers, budgets, approvals and pauses hold
all the same.

It needs a reason, and the verb override-windows on the policy; your user name is recorded
with the reason.`,
		Example: `  evenkeel rollout override-windows privileged-containers --reason "INC-42: exploited now"
  evenkeel rollout override-windows privileged-containers --undo --reason "INC-42 is over"`,
		Args: command.TakesArguments(1, 1, "Remediation or policy"),
	}
	cmd.Flags().BoolVar(&o.undo, "undo", false, "let windows and freezes hold again")
	request.TakesReason(cmd, &o.reason)
	connect.Completes(cmd, flags, planNames, connect.PolicyNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.reason == "" {
			return command.Exit(command.ExitUsage, errors.New("--reason must say why: it is kept with the plan"))
		}
		c, rem, err := planNamed(cmd.Context(), flags, args[0])
		if err != nil {
			return err
		}
		said, err := o.override(cmd.Context(), c, rem)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
		return err
	}
	return cmd
}

func (o overrideOptions) override(ctx context.Context, c client.Client, rem *v1alpha1.Remediation) (string, error) {
	if err := running(rem); err != nil {
		return "", err
	}
	if o.undo {
		return "windows and freezes hold again for remediation " + rem.Name,
			ask(ctx, c, rem, "windowOverride", nil, o.reason)
	}
	if err := ask(ctx, c, rem, "windowOverride", string(rem.UID), o.reason); err != nil {
		return "", err
	}
	if !rem.OverridesWindows() {
		return "", command.Exit(command.ExitFailure, errors.New("the cluster didn't keep the override: the "+
			"CustomResourceDefinition remediations.evenkeel.dev is of an older version; see: evenkeel doctor"))
	}
	return fmt.Sprintf("remediation %s may write outside its windows and in freezes; watch: evenkeel rollout get %s "+
		"--watch", rem.Name, rem.Name), nil
}
