// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/prose"
)

// undoOptions are the flags of rollout undo.
type undoOptions struct {
	dryRun, wait, watch bool
	reason              string
}

func newUndoCommand(flags *connect.Flags) *cobra.Command {
	o := undoOptions{}
	cmd := &cobra.Command{
		Use:   "undo NAME",
		Short: "Undo all that a plan has written, by its recorded inverse, also when it has ended",
		Long: `Undo reverts what a plan has written and what still stands of it, the last write
first: patched fields to what they were, deleted objects made again, created ones
deleted. A field that somebody else has changed since is left to them. What has no
undo (an eviction) is named before anything is done, and stays as it is.

Neither a breaker nor a pause nor a maintenance window stops it. The objects violate
again, and their policy's revision isn't tried again until the policy changes or
evenkeel rollout retry says so. An undo can't be taken back. It needs the verb undo on
the policy; your user name is recorded with the reason. With --wait or --watch the
program ends with code 0 when all is undone, and with 1 when something couldn't be.`,
		Example: `  evenkeel rollout undo privileged-containers --dry-run
  evenkeel rollout undo privileged-containers-5e1f0f6a --watch`,
		Args: command.TakesArguments(1, 1, "Remediation or policy"),
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be undone, and do nothing")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until it is undone")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show the rollout until it is undone")
	request.TakesReason(cmd, &o.reason)
	connect.Completes(cmd, flags, planNames, connect.PolicyNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, rem, err := planNamed(cmd.Context(), flags, args[0])
		if err != nil {
			return err
		}
		if err := o.undo(cmd.Context(), c, rem, cmd.OutOrStdout()); err != nil || o.dryRun || !o.wait && !o.watch {
			return err
		}
		v := viewer{client: c, screen: terminal.NewScreen(cmd.OutOrStdout()), errors: cmd.ErrOrStderr()}
		if o.wait && !o.watch {
			v.screen = &terminal.Screen{Out: io.Discard}
		}
		return v.follow(cmd.Context(), rem.Name)
	}
	return cmd
}

func (o undoOptions) undo(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, out io.Writer) error {
	if err := undoable(rem); err != nil {
		return err
	}
	if err := aloneAtWork(ctx, c, rem); err != nil {
		return err
	}
	stands, lasting, err := standing(ctx, c, rem)
	if err != nil {
		return err
	}
	for _, line := range lasting {
		fmt.Fprintf(out, "can't be undone: %s\n", line)
	}
	if o.dryRun {
		_, err := fmt.Fprintf(out,
			"remediation %s: %d of %s would be undone, but for fields that somebody else has changed since\n",
			rem.Name, stands-len(lasting), prose.Count(rem.Spec.Plan.Targets, "target"))
		return err
	}
	if err := askState(ctx, c, rem, v1alpha1.StateUndone, nil, o.reason); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out,
		"remediation %s is being undone by %s: %d of %s; watch: evenkeel rollout get %s --watch\n",
		rem.Name, undoer(rem), stands-len(lasting), prose.Count(rem.Spec.Plan.Targets, "target"), rem.Name)
	return err
}

func undoable(rem *v1alpha1.Remediation) error {
	switch {
	case rem.DeletionTimestamp != nil:
		return command.Exit(command.ExitFailure,
			fmt.Errorf("remediation %s is being deleted: its record goes with it", rem.Name))
	case rem.Spec.DesiredState == v1alpha1.StateUndone && rem.Rests():
		return command.Exit(command.ExitFailure,
			fmt.Errorf("remediation %s has been undone (%s)", rem.Name, rem.Status.Phase))
	case rem.Status.Phase == v1alpha1.PhasePreviewed:
		return command.Exit(command.ExitFailure,
			fmt.Errorf("remediation %s was a dry run: it has written nothing", rem.Name))
	case rem.Status.Phase.Final() && rem.Status.Counts.Done == 0:
		return command.Exit(command.ExitFailure,
			fmt.Errorf(
				"remediation %s (%s) has changed nothing that still stands; other plans: evenkeel rollout history %s",
				rem.Name, rem.Status.Phase, rem.Spec.Plan.Policy.Name))
	default:
		return nil
	}
}

// aloneAtWork refuses to undo a plan while another of its policy is at work: that
// one would fix what this one undoes.
func aloneAtWork(ctx context.Context, c client.Reader, rem *v1alpha1.Remediation) error {
	plans, err := listPlans(ctx, c, client.MatchingLabels{v1alpha1.LabelPolicy: rem.Spec.Plan.Policy.Name})
	if err != nil {
		return err
	}
	for i := range plans {
		if plans[i].Name != rem.Name && !plans[i].Status.Phase.Final() {
			return command.Exit(command.ExitFailure, fmt.Errorf("remediation %s of the same policy is in progress "+
				"(%s), and would fix again what is undone; end it first: evenkeel rollout abort %s",
				plans[i].Name, plans[i].Phase(), plans[i].Name))
		}
	}
	return nil
}

// standing counts the targets on which a plan's writes stand, and names those
// whose write has no undo.
func standing(ctx context.Context, c client.Reader, rem *v1alpha1.Remediation) (
	stands int, lasting []string, err error) {
	for _, name := range rem.Spec.Plan.Slices {
		slice := &v1alpha1.RemediationSlice{}
		err := c.Get(ctx, client.ObjectKey{Name: name}, slice)
		if apierrors.IsNotFound(err) {
			return 0, nil, command.Exit(command.ExitFailure,
				fmt.Errorf(
					"remediation %s can't be undone: its slice %s is gone, and what it knew of undoing with it; "+
						"restore it from a backup, or set the objects back by hand", rem.Name, name))
		}
		if err != nil {
			return 0, nil, connect.Failure("read slice "+name, err)
		}
		for i, rec := range slice.Records {
			if !written(rec.State) || i >= len(slice.Targets) {
				continue
			}
			stands++
			if why := noUndo(rec); why != "" {
				lasting = append(lasting, slice.Targets[i].Object.String()+": "+why)
			}
		}
	}
	return stands, lasting, nil
}

// written says whether a target in this state holds, or may hold, a write of ours.
func written(state v1alpha1.TargetState) bool {
	switch state {
	case v1alpha1.TargetIntent, v1alpha1.TargetApplied, v1alpha1.TargetVerified, v1alpha1.TargetDone:
		return true
	case v1alpha1.TargetPending, v1alpha1.TargetPreviewed, v1alpha1.TargetSkipped, v1alpha1.TargetFailed,
		v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict:
	}
	return false
}

func noUndo(rec v1alpha1.TargetRecord) string {
	for _, w := range rec.Preceding {
		if why := action.NoUndo(w); why != "" {
			return why
		}
	}
	if rec.Write == nil {
		return ""
	}
	return action.NoUndo(*rec.Write)
}
