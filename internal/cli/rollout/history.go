// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
)

// shortRevision is how much of a revision a table shows.
const shortRevision = 12

func newHistoryCommand(flags *connect.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [POLICY]",
		Short: "List the plans of a policy: what each has changed, and who approved or undid it",
		Long: `History lists the plans of a policy, or of all policies, the oldest first: the
revision that each fixed, when it ran and how it ended, its targets by what became
of them, who approved it, who had it undone, and what people asked of it last. Below
stands what people have asked of each plan: who, when and why. Only plans that the
policy's history still keeps are listed (history of its strategy).`,
		Example: `  evenkeel rollout history privileged-containers
  evenkeel rollout history -o json`,
		Args: command.TakesArguments(0, 1, "policy"),
	}
	o := output.Takes(cmd, output.JSON, output.YAML, output.Name)
	connect.Completes(cmd, flags, connect.PolicyNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Check(cmd); err != nil {
			return err
		}
		c, err := flags.Client()
		if err != nil {
			return err
		}
		plans, err := historyOf(cmd.Context(), c, args)
		if err != nil {
			return err
		}
		return o.Objects(cmd.OutOrStdout(), &v1alpha1.RemediationList{Items: plans}, func(out io.Writer) error {
			return printHistory(plans, out)
		})
	}
	return cmd
}

// historyOf are the plans of the policy that the arguments name, or of all. A
// policy that isn't there and has none is a mistake.
func historyOf(ctx context.Context, c client.Reader, args []string) ([]v1alpha1.Remediation, error) {
	if len(args) == 0 {
		return listPlans(ctx, c)
	}
	plans, err := listPlans(ctx, c, client.MatchingLabels{v1alpha1.LabelPolicy: args[0]})
	if err != nil || len(plans) > 0 {
		return plans, err
	}
	err = c.Get(ctx, client.ObjectKey{Name: args[0]}, &v1alpha1.ClusterRegoPolicy{})
	if apierrors.IsNotFound(err) {
		return nil, command.Exit(command.ExitFailure,
			fmt.Errorf("there is no policy %q, nor a plan of one; see: kubectl get clusterregopolicies.evenkeel.dev",
				args[0]))
	}
	if err != nil {
		return nil, connect.Failure("read policy "+args[0], err)
	}
	return nil, nil
}

func printHistory(plans []v1alpha1.Remediation, out io.Writer) error {
	if len(plans) == 0 {
		_, err := fmt.Fprintln(out, "No plans: no violation has been planned yet, or the history has forgotten them.")
		return err
	}
	table := output.Columns(out, "PLAN", "POLICY", "REVISION", "PHASE", "REASON", "BEGUN", "ENDED", "TARGETS", "DONE",
		"FAILED", "REVERTED", "IN CONFLICT", "APPROVED BY", "UNDONE BY", "LAST ASKED FOR")
	for _, rem := range plans {
		c := rem.Status.Counts
		output.Row(table, rem.Name, rem.Spec.Plan.Policy.Name,
			fmt.Sprintf("%.*s", shortRevision, rem.Spec.Plan.Policy.Revision), string(rem.Phase()),
			cmp.Or(rem.Status.Reason, "-"),
			rem.CreationTimestamp.UTC().Format("2006-01-02 15:04:05Z"), timeOf(rem.Status.CompletionTime),
			fmt.Sprint(rem.Spec.Plan.Targets), fmt.Sprint(c.Done), fmt.Sprint(c.Failed), fmt.Sprint(c.Reverted),
			fmt.Sprint(c.RevertConflict), approver(&rem), undoer(&rem), lastAsked(&rem))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printActs(plans, out)
}

// lastAsked is what people asked of a plan last: what, who and why.
func lastAsked(rem *v1alpha1.Remediation) string {
	requests := v1alpha1.Requests(rem)
	if len(requests) == 0 {
		return "-"
	}
	last := &requests[len(requests)-1]
	return fmt.Sprintf("%s by %s", last.What(), last)
}

func timeOf(t *metav1.MicroTime) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func approver(rem *v1alpha1.Remediation) string {
	if a := rem.Status.Approval; a != nil && a.Decision == v1alpha1.DecisionApprove {
		return a.Approver
	}
	return "-"
}

func undoer(rem *v1alpha1.Remediation) string {
	if rem.Spec.DesiredState != v1alpha1.StateUndone {
		return "-"
	}
	if asked := rem.AskedBy(); asked != nil {
		return asked.User
	}
	return "somebody"
}
