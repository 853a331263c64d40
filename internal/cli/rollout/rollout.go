// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
)

// NewCommand is the command rollout, with those below it.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Show and control rollouts",
		Long: `Rollout shows how violations are being remediated, and lets a person pause,
resume, approve, reject, abort, undo or retry, or override its windows. NAME is a Remediation, or a policy: then
its latest plan is meant.`,
	}
	command.TakesCommand(cmd)
	flags := connect.TakesCluster(cmd)
	cmd.AddCommand(newGetCommand(flags), newHistoryCommand(flags), newUndoCommand(flags),
		newApproveCommand(flags))
	for _, word := range rolloutWords() {
		cmd.AddCommand(newWordCommand(flags, word))
	}
	return cmd
}

func planNamed(ctx context.Context, flags *connect.Flags, name string) (client.Client, *v1alpha1.Remediation, error) {
	c, err := flags.Client()
	if err != nil {
		return nil, nil, err
	}
	rem, err := findPlan(ctx, c, name)
	return c, rem, err
}

// findPlan reads the Remediation of that name, or the latest plan of the policy
// of that name.
func findPlan(ctx context.Context, c client.Reader, name string) (*v1alpha1.Remediation, error) {
	rem := &v1alpha1.Remediation{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, rem)
	if err == nil {
		return rem, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, connect.Failure("read remediation "+name, err)
	}
	plans, err := listPlans(ctx, c, client.MatchingLabels{v1alpha1.LabelPolicy: name})
	if err != nil {
		return nil, err
	}
	if len(plans) == 0 {
		return nil, &noPlanError{name}
	}
	return &plans[len(plans)-1], nil
}

// noPlanError says that a name is neither a plan's nor that of a policy with one.
type noPlanError struct{ name string }

func (e *noPlanError) Error() string {
	return fmt.Sprintf("%q is neither a Remediation nor a policy that has one; see: evenkeel rollout get", e.name)
}

func (*noPlanError) ExitCode() int { return command.ExitFailure }

// listPlans lists Remediations, the oldest first; one at work comes last.
func listPlans(ctx context.Context, c client.Reader, opts ...client.ListOption) ([]v1alpha1.Remediation, error) {
	list := &v1alpha1.RemediationList{}
	if err := c.List(ctx, list, opts...); err != nil {
		return nil, connect.Failure("list remediations", err)
	}
	slices.SortStableFunc(list.Items, func(a, b v1alpha1.Remediation) int {
		if a.Status.CompletionTime == nil != (b.Status.CompletionTime == nil) {
			if b.Status.CompletionTime == nil {
				return -1
			}
			return 1
		}
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return list.Items, nil
}

func planNames(ctx context.Context, c client.Reader) ([]string, error) {
	list := &v1alpha1.RemediationList{}
	return connect.Listed(ctx, c, list, func() (out []string) {
		for _, rem := range list.Items {
			out = append(out, fmt.Sprintf("%s\tRemediation of %s, %s", rem.Name, rem.Spec.Plan.Policy.Name,
				rem.Phase()))
		}
		return out
	})
}
