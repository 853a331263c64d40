// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

// rolloutWord is one thing that a person can say of a rollout.
type rolloutWord struct {
	name, short, long string
	// args follows NAME in the usage line. Empty example: one with the name alone.
	args, example string
	// takes adds flags of its own, and check refuses what they and the reason say, before the cluster is asked.
	takes func(*cobra.Command)
	check func(cmd *cobra.Command, reason string) error
	// comments says whether the reason is given by --comment, for it is part of an answer.
	comments bool
	// say does it, and tells what was done.
	say func(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error)
}

func rolloutWords() []rolloutWord {
	return []rolloutWord{
		pauseWord(), overrideWord(),
		{name: "resume", short: "Resume a paused rollout", say: resume,
			long: "Resume lets a paused rollout go on.\n" + needs("pause")},
		{name: "abort", short: "Roll back the current wave and abort the rollout", say: abort,
			long: "Abort rolls back the current wave, or all waves where the policy says rollbackScope: All,\n" +
				"and ends the rollout. It can't be taken back.\n" + needs("abort")},
		{name: "retry", short: "Retry verification of a held wave, or replan after a rollback", say: retry,
			long: "Retry verifies the wave of a rollout that is held by a failure (onFailure: Hold) once\nmore. For " +
				"a rollout that has ended it lets the policy be planned again.\n" + needs("retry")},
		{name: "reject", short: "Reject a pending rollout", say: reject,
			comments: true,
			long: "Reject ends a rollout of a policy in mode Manual before it begins. It needs the permission\nto " +
				"patch remediations, and the verb approve on the policy; your user name is recorded."},
	}
}

func newWordCommand(flags *connect.Flags, word rolloutWord) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     word.name + " NAME" + word.args,
		Short:   word.short,
		Long:    word.long,
		Example: cmp.Or(word.example, "  evenkeel rollout "+word.name+" privileged-containers"),
		Args:    command.TakesArguments(1, 1, "Remediation or policy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if word.check != nil {
				if err := word.check(cmd, reason); err != nil {
					return err
				}
			}
			c, rem, err := planNamed(cmd.Context(), flags, args[0])
			if err != nil {
				return err
			}
			said, err := word.say(cmd.Context(), c, rem, reason)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		},
	}
	if word.takes != nil {
		word.takes(cmd)
	}
	connect.Completes(cmd, flags, planNames, connect.PolicyNames)
	if word.comments {
		takesComment(cmd, &reason)
	} else {
		request.TakesReason(cmd, &reason)
	}
	return cmd
}

func needs(verb string) string {
	return "It needs the verb " + verb + " on the policy; your user name is recorded with the reason."
}

func resume(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error) {
	if err := running(rem); err != nil {
		return "", err
	}
	return "remediation " + rem.Name + " resumed", askState(ctx, c, rem, v1alpha1.StateRunning, nil, reason)
}

func abort(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error) {
	if err := running(rem); err != nil {
		return "", err
	}
	return "remediation " + rem.Name + " is being aborted; watch: evenkeel rollout get " + rem.Name + " --watch",
		askState(ctx, c, rem, v1alpha1.StateAborted, nil, reason)
}

func reject(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, comment string) (string, error) {
	return sendAnswer(ctx, c, rem,
		v1alpha1.PlanApproval{Decision: v1alpha1.DecisionReject, Comment: comment})
}

func running(rem *v1alpha1.Remediation) error {
	if rem.Status.Phase.Final() {
		return command.Exit(command.ExitFailure,
			fmt.Errorf("remediation %s has ended (%s)", rem.Name, rem.Status.Phase))
	}
	return nil
}

// ask changes a field of a plan by which people ask something of it.
func ask(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, field string, value any,
	reason string) error {
	return change(ctx, c, rem, request.Spec(field, value, reason))
}

// askState asks for another state of a plan; a pause may end by itself.
func askState(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, state v1alpha1.DesiredState,
	until *metav1.Time, reason string) error {
	return change(ctx, c, rem, request.SpecUntil("desiredState", state, "pausedUntilTime", until, reason))
}

func change(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, patch map[string]any) error {
	if err := request.Patch(ctx, c, rem, patch); err != nil {
		return connect.Failure("change remediation "+rem.Name, err)
	}
	return nil
}
