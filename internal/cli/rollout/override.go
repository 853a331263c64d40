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
)

func overrideWord() rolloutWord {
	undo := false
	return rolloutWord{name: "override-windows", args: " --reason REASON",
		short: "Let a rollout write although its windows are closed or a freeze lasts",
		long: `Override-windows lets a rollout write while its maintenance windows are closed or a freeze
of the cluster lasts, for an emergency. It holds for this one plan, until it ends or the
override is taken back with --undo. Circuit breakers, budgets, approvals and pauses hold
all the same.

It needs a reason, and the verb override-windows on the policy; your user name is recorded
with the reason.`,
		example: `  evenkeel rollout override-windows privileged-containers --reason "INC-42: exploited now"
  evenkeel rollout override-windows privileged-containers --undo --reason "INC-42 is over"`,
		takes: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&undo, "undo", false, "let windows and freezes hold again")
		},
		check: func(_ *cobra.Command, reason string) error {
			if reason == "" {
				return command.Exit(command.ExitUsage, errors.New("--reason must say why: it is kept with the plan"))
			}
			return nil
		},
		say: func(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error) {
			return override(ctx, c, rem, undo, reason)
		}}
}

func override(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, undo bool, reason string) (
	string, error) {
	if err := running(rem); err != nil {
		return "", err
	}
	if undo {
		return "windows and freezes hold again for remediation " + rem.Name,
			ask(ctx, c, rem, "windows", nil, reason)
	}
	if err := ask(ctx, c, rem, "windows", string(v1alpha1.WindowsIgnore), reason); err != nil {
		return "", err
	}
	if !rem.Spec.IgnoresWindows() {
		return "", command.Exit(command.ExitFailure, errors.New("the cluster didn't keep the override: the "+
			"CustomResourceDefinition remediations.evenkeel.dev is of an older version; see: evenkeel doctor"))
	}
	return fmt.Sprintf("remediation %s may write outside its windows and in freezes; watch: evenkeel rollout get %s "+
		"--watch", rem.Name, rem.Name), nil
}
