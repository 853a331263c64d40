// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

func newHistoryCommand(flags *connect.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "Say who overrode policies, or ended an override, and why",
		Long: `History lists how people have overridden policies, or one: when, who and why, the latest ten of
each. An override goes with its policy, and so does what was asked of it. What is overridden now, and until
when, kubectl get policyoverrides says. -o json and yaml print the overrides whole: what was asked for is in
the annotation evenkeel.dev/requests.`,
		Example: `  evenkeel policy history
  evenkeel policy history privileged-containers -o yaml`,
		Args: command.TakesArguments(0, 1, "policy; see kubectl get rego"),
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
		list, err := overridesOf(cmd.Context(), c, args)
		if err != nil {
			return err
		}
		return o.Objects(cmd.OutOrStdout(), list, func(out io.Writer) error { return printHistory(list.Items, out) })
	}
	return cmd
}

// overridesOf are the override of the policy that the arguments name, if it ever had one, or all. A policy that isn't
// there is a mistake.
func overridesOf(ctx context.Context, c client.Reader, args []string) (*v1alpha1.PolicyOverrideList, error) {
	list := &v1alpha1.PolicyOverrideList{}
	if len(args) == 0 {
		if err := c.List(ctx, list); err != nil {
			return nil, connect.Failure("list overrides of policies", err)
		}
		return list, nil
	}
	stored := &v1alpha1.PolicyOverride{}
	err := c.Get(ctx, client.ObjectKey{Name: args[0]}, stored)
	if err == nil {
		list.Items = append(list.Items, *stored)
		return list, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, connect.Failure("read the override of policy "+args[0], err)
	}
	err = c.Get(ctx, client.ObjectKey{Name: args[0]}, &v1alpha1.ClusterRegoPolicy{})
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w; those that are there: kubectl get rego", err)
	}
	if err != nil {
		return nil, connect.Failure("read policy "+args[0], err)
	}
	return list, nil
}

func printHistory(overrides []v1alpha1.PolicyOverride, out io.Writer) error {
	return request.PrintActsOf(out, "POLICY", "Nobody has overridden a policy: evenkeel policy override NAME does so.",
		overrides,
		func(o *v1alpha1.PolicyOverride) (string, []v1alpha1.RequestRecord) {
			return o.Name, v1alpha1.Requests(o)
		})
}
