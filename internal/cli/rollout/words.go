// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

// rolloutWord is one thing that a person can say of a rollout.
type rolloutWord struct {
	name, short, long string
	// comments says whether the reason is given by --comment, for it is part of an answer.
	comments bool
	// say does it, and tells what was done.
	say func(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error)
}

func rolloutWords() []rolloutWord {
	return []rolloutWord{
		{name: "pause", short: "Let no new write begin", say: pause(true),
			long: "Pause lets no new write begin. Writes in flight are verified, and undone when they do harm.\n" +
				needs("pause")},
		{name: "resume", short: "Go on after a pause", say: pause(false),
			long: "Resume lets a paused rollout go on.\n" + needs("pause")},
		{name: "abort", short: "Undo the wave at work, and end the rollout", say: abort,
			long: "Abort undoes the wave at work, or all waves where the policy says rollbackScope: All,\nand ends " +
				"the rollout. It can't be taken back.\n" + needs("abort")},
		{name: "retry", short: "Verify a held wave once more, or plan anew after a rollback", say: retry,
			long: "Retry verifies the wave of a rollout that is held by a failure (onFailure: Hold) once\nmore. For " +
				"a rollout that has ended it lets the policy be planned again.\n" + needs("retry")},
		{name: "reject", short: "Say no to a rollout that awaits approval", say: reject,
			comments: true,
			long: "Reject ends a rollout of a policy in mode Manual before it begins. It needs the permission\nto " +
				"create remediationapprovals, and the verb approve on the policy; your user name is\nrecorded."},
	}
}

func newWordCommand(flags *connect.Flags, word rolloutWord) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     word.name + " NAME",
		Short:   word.short,
		Long:    word.long,
		Example: "  evenkeel rollout " + word.name + " privileged-containers",
		Args:    command.TakesArguments(1, 1, "Remediation or policy"),
		RunE: func(cmd *cobra.Command, args []string) error {
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
	connect.Completes(cmd, flags, planNames, connect.PolicyNames)
	if word.comments {
		takesComment(cmd, &reason)
	} else {
		request.TakesReason(cmd, &reason)
	}
	return cmd
}

// needs says what permission a word asks for.
func needs(verb string) string {
	return "It needs the verb " + verb + " on the policy; your user name is recorded with the reason."
}

func pause(paused bool) func(context.Context, client.Client, *v1alpha1.Remediation, string) (string, error) {
	return func(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error) {
		if err := running(rem); err != nil {
			return "", err
		}
		word, state := "resumed", v1alpha1.StateRunning
		if paused {
			word, state = "paused", v1alpha1.StatePaused
		}
		return "remediation " + rem.Name + " " + word, ask(ctx, c, rem, "desiredState", state, reason)
	}
}

func abort(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error) {
	if err := running(rem); err != nil {
		return "", err
	}
	return "remediation " + rem.Name + " is being aborted; watch: evenkeel rollout get " + rem.Name + " --watch",
		ask(ctx, c, rem, "desiredState", v1alpha1.StateAborted, reason)
}

// reject says no to a plan, whatever it would change.
func reject(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, comment string) (string, error) {
	return sendAnswer(ctx, c, rem,
		v1alpha1.RemediationApprovalSpec{Decision: v1alpha1.DecisionReject, Comment: comment})
}

// running refuses a word that only a rollout at work can heed.
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
	if err := request.Patch(ctx, c, rem, request.Spec(field, value, reason)); err != nil {
		return connect.Failure("change remediation "+rem.Name, err)
	}
	return nil
}
