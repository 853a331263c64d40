// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/prose"
)

// approval is what a person gives with a yes.
type approval struct {
	comment, digest   string
	yes, unseen       bool
	changes, targets  int
	timeout, lookEach time.Duration
}

func newApproveCommand(flags *connect.Flags) *cobra.Command {
	a := approval{lookEach: lookEvery}
	cmd := &cobra.Command{
		Use:   "approve NAME",
		Short: "Approve a pending rollout and the changes shown",
		Long: `Approve shows what a rollout of a policy in mode Manual would change, targets with equal
changes together, and lets it begin. After a step with approval Required it lets the next wave
begin, in every mode. On a terminal it asks before. The answer is to the plan and
to the changes that were shown, by their digest: it never counts for others, and a target whose
fix has become another one by the time that it is written is left to the next plan. Values of
Secrets, and of kinds that the role view doesn't read, aren't shown.
It needs the permission to patch remediations, and the verb approve on the policy; your user name
is recorded.`,
		Example: `  evenkeel rollout approve privileged-containers --comment "change 4711"
  evenkeel rollout approve privileged-containers --digest sha256:… --yes`,
		Args: command.TakesArguments(1, 1, "Remediation or policy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, rem, err := planNamed(cmd.Context(), flags, args[0])
			if err != nil {
				return err
			}
			return a.give(cmd, c, rem)
		},
	}
	connect.Completes(cmd, flags, planNames, connect.PolicyNames)
	takesComment(cmd, &a.comment)
	cmd.Flags().StringVar(&a.digest, "digest", "", "the digest of the changes that you have reviewed: fail if the "+
		"plan's is another")
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "don't ask")
	cmd.Flags().BoolVar(&a.unseen, "without-diff", false, "approve the plan whatever it changes, without showing it")
	cmd.Flags().DurationVar(&a.timeout, "timeout", time.Minute, "how long to wait for the changes to be known")
	takesShown(cmd, &a.changes, &a.targets)
	return cmd
}

func takesComment(cmd *cobra.Command, comment *string) {
	cmd.Flags().StringVar(comment, "comment", "", "why, for the record")
	cmd.Flags().StringVar(comment, "reason", "", "the same as --comment")
	cmd.MarkFlagsMutuallyExclusive("comment", "reason")
}

// takesShown gives a command the flags that bound what is drawn of the changes to approve.
func takesShown(cmd *cobra.Command, changes, targets *int) {
	cmd.Flags().IntVar(changes, "limit", 20, "how many different changes to show of a rollout that awaits approval; "+
		"0 for all")
	cmd.Flags().IntVar(targets, "targets", 3, "how many targets to name of each change; 0 for all")
}

func shown(changes, targets int) display.Shown {
	bound := func(n int) int {
		if n <= 0 {
			return math.MaxInt
		}
		return n
	}
	return display.Shown{Changes: bound(changes), Targets: bound(targets)}
}

// give shows a plan, asks, and says yes to what was shown.
func (a *approval) give(cmd *cobra.Command, c client.Client, rem *v1alpha1.Remediation) error {
	digest := ""
	if a.unseen && a.digest != "" {
		return command.WronglyCalled(cmd,
			errors.New("--digest binds the answer to changes, and --without-diff to none"))
	}
	if !a.unseen {
		var err error
		if rem, digest, err = a.show(cmd, c, rem); err != nil {
			return err
		}
	}
	if err := a.ask(cmd, rem); err != nil {
		return err
	}
	said, err := sendAnswer(cmd.Context(), c, rem, v1alpha1.PlanApproval{
		Decision: v1alpha1.DecisionApprove, ProposalDigest: digest, Comment: a.comment})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
	return err
}

// show prints what a plan would change, once that is known, and returns the plan as it was
// printed, with the digest. Of one that awaits no approval it prints nothing: admission
// refuses the answer, and says why.
func (a *approval) show(cmd *cobra.Command, c client.Client, rem *v1alpha1.Remediation) (
	*v1alpha1.Remediation, string, error) {
	r, err := a.await(cmd.Context(), c, rem)
	if err != nil {
		return rem, "", err
	}
	digest := ""
	if wave, awaits := r.Remediation.AwaitsApproval(); awaits && wave > 0 {
		digest = r.Remediation.Status.ProposalDigest
	}
	if p := r.Proposal(); p != nil {
		digest = p.Digest
		screen := terminal.NewScreen(cmd.OutOrStdout())
		r.Shown = shown(a.changes, a.targets)
		if err := screen.Print(r.DrawProposal(screen.Style)); err != nil {
			return rem, "", err
		}
	}
	if a.digest != "" && digest == "" && r.Remediation.Status.Phase.Final() {
		return rem, "", command.Exit(command.ExitFailure, fmt.Errorf(
			"remediation %s has ended (%s): nothing of it awaits an answer", rem.Name, r.Remediation.Status.Phase))
	}
	if a.digest != "" && a.digest != digest {
		return rem, "", command.Exit(command.ExitFailure, fmt.Errorf(
			"remediation %s: the digest of its changes is %q, not %q: review them before you answer", rem.Name, digest,
			a.digest))
	}
	return r.Remediation, digest, nil
}

func (a *approval) ask(cmd *cobra.Command, rem *v1alpha1.Remediation) error {
	if a.yes {
		return nil
	}
	what := "remediation " + rem.Name
	if wave, _ := rem.AwaitsApproval(); wave > 0 {
		what += ", after " + prose.Count(wave, "wave")
	}
	yes, err := terminal.Confirm(cmd.InOrStdin(), cmd.OutOrStdout(), "Approve "+what+"?")
	if err != nil {
		return err
	}
	if !yes {
		return command.Exit(command.ExitFailure, fmt.Errorf("remediation %s wasn't approved", rem.Name))
	}
	return nil
}

// await reads the plan until all that it would change is known, if anybody is to approve it.
func (a *approval) await(ctx context.Context, c client.Reader, rem *v1alpha1.Remediation) (display.Rollout, error) {
	ticker, deadline := time.NewTicker(a.lookEach), time.NewTimer(a.timeout)
	defer ticker.Stop()
	defer deadline.Stop()
	v := viewer{client: c}
	for {
		r, err := v.readPlan(ctx, rem.Name)
		if err != nil {
			return r, err
		}
		p := r.Proposal()
		if p == nil || p.Complete() {
			return r, nil
		}
		if r.TargetsUnknown {
			return r, command.Exit(command.ExitFailure, fmt.Errorf("remediation %s: what it would change isn't known, "+
				"and nothing was answered: %s; to approve it without looking: --without-diff", rem.Name,
				strings.Join(r.Unread, "; ")))
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-deadline.C:
			return r, command.Exit(command.ExitFailure, fmt.Errorf("remediation %s: what it would change is known "+
				"for %d of %s after %s: try again later, or approve it without looking (--without-diff). The "+
				"plan says: %s", rem.Name, p.Known, prose.Count(p.All, "target"), a.timeout,
				r.Remediation.Status.Message))
		case <-ticker.C:
		}
	}
}

// sendAnswer answers a plan, and none that is made under its name later.
func sendAnswer(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, answer v1alpha1.PlanApproval) (
	string, error) {
	why := canary.Unawaited(rem)
	answer.Wave, _ = rem.AwaitsApproval()
	if given := rem.Spec.Approval; why == "" && given != nil && given.Wave >= answer.Wave {
		why = fmt.Sprintf("it was answered already: %s by %s; an answer can't be changed", given.Decision,
			rem.AnsweredBy())
	}
	if why != "" {
		return "", command.Exit(command.ExitFailure,
			fmt.Errorf("remediation %s: %s; nothing was changed", rem.Name, why))
	}
	if err := request.Patch(ctx, c, rem, map[string]any{"metadata": map[string]any{"uid": rem.UID},
		"spec": map[string]any{"approval": answer}}); err != nil {
		return "", connect.Failure("answer remediation "+rem.Name, err)
	}
	by := rem.AnsweredBy()
	if by == nil {
		return "", command.Exit(command.ExitFailure, fmt.Errorf("remediation %s: admission hasn't recorded who "+
			"answered, so that the answer doesn't count; evenkeel doctor says what is wrong", rem.Name))
	}
	word := map[v1alpha1.ApprovalDecision]string{
		v1alpha1.DecisionApprove: "approved", v1alpha1.DecisionReject: "rejected"}[answer.Decision]
	return fmt.Sprintf("remediation %s %s by %s", rem.Name, word, by.User), nil
}
