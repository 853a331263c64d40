// SPDX-License-Identifier: Apache-2.0

package rollout

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

func newPauseCommand(flags *connect.Flags) *cobra.Command {
	end, reason := request.End{Of: "a pause"}, ""
	cmd := &cobra.Command{
		Use:   "pause NAME [--for DURATION | --until TIME]",
		Short: "Pause a rollout: no new write begins, until it is resumed or a set time",
		Long: `Pause lets no new write begin. Writes in flight are verified, and undone when they do harm.
With --for or --until the pause ends by itself, and the rollout goes on; without either it lasts until
somebody resumes the rollout. To change the end, pause it again; "evenkeel rollout resume" ends the
pause before.
` + needs("pause"),
		Example: `  evenkeel rollout pause privileged-containers --for 2h --reason "INC-42"
  evenkeel rollout pause privileged-containers --until 2027-01-07T08:00:00Z
  evenkeel rollout pause privileged-containers`,
		Args: command.TakesArguments(1, 1, "Remediation or policy"),
	}
	end.Takes(cmd)
	request.TakesReason(cmd, &reason)
	connect.Completes(cmd, flags, planNames, connect.PolicyNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		until, err := end.Time(time.Now())
		if err != nil {
			return command.WronglyCalled(cmd, err)
		}
		c, rem, err := planNamed(cmd.Context(), flags, args[0])
		if err != nil {
			return err
		}
		said, err := pause(cmd.Context(), c, rem, until, reason)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
		return err
	}
	return cmd
}

func pause(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, until *metav1.Time, reason string) (
	string, error) {
	if err := running(rem); err != nil {
		return "", err
	}
	if err := askState(ctx, c, rem, v1alpha1.StatePaused, until, reason); err != nil {
		return "", err
	}
	if !rem.Spec.PausedUntil.Equal(until) {
		return "", command.Exit(command.ExitFailed, fmt.Errorf("remediation %[1]s is paused, and without an end: the "+
			"CustomResourceDefinition remediations.evenkeel.dev is of an older version and has dropped it; see: "+
			"evenkeel doctor. To go on: evenkeel rollout resume %[1]s", rem.Name))
	}
	return "remediation " + rem.Name + " paused" + v1alpha1.UntilText(until), nil
}
