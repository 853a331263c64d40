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
	"evenkeel.dev/evenkeel/internal/cli/request"
)

// pause pauses a plan until a time; nil for no end.
func pauseWord() rolloutWord {
	end, until := request.End{Of: "a pause"}, (*metav1.Time)(nil)
	return rolloutWord{name: "pause", args: " [--for DURATION | --until TIME]",
		short: "Pause a rollout: no new write begins, until it is resumed or a set time",
		long: `Pause lets no new write begin. Writes in flight are verified, and undone when they do harm.
With --for or --until the pause ends by itself, and the rollout goes on; without either it lasts until
somebody resumes the rollout. To change the end, pause it again; "evenkeel rollout resume" ends the
pause before.
` + needs("pause"),
		example: `  evenkeel rollout pause privileged-containers --for 2h --reason "INC-42"
  evenkeel rollout pause privileged-containers --until 2027-01-07T08:00:00Z
  evenkeel rollout pause privileged-containers`,
		takes: end.Takes,
		check: func(cmd *cobra.Command, _ string) (err error) {
			if until, err = end.Time(time.Now()); err != nil {
				return command.WronglyCalled(cmd, err)
			}
			return nil
		},
		say: func(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error) {
			return pause(ctx, c, rem, until, reason)
		}}
}

func pause(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, until *metav1.Time, reason string) (
	string, error) {
	if err := running(rem); err != nil {
		return "", err
	}
	if err := askState(ctx, c, rem, v1alpha1.StatePaused, until, reason); err != nil {
		return "", err
	}
	if !rem.Spec.PausedUntilTime.Equal(until) {
		return "", command.Exit(command.ExitFailed, fmt.Errorf("remediation %[1]s is paused, and without an end: the "+
			"CustomResourceDefinition remediations.evenkeel.dev is of an older version and has dropped it; see: "+
			"evenkeel doctor. To go on: evenkeel rollout resume %[1]s", rem.Name))
	}
	return "remediation " + rem.Name + " paused" + v1alpha1.UntilText(until), nil
}
