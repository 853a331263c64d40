// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/explain"
	"evenkeel.dev/evenkeel/internal/manager/limitflags"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/prose"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	tools     limitflags.Tools
	flags     *connect.Flags
	namespace string
	output    *output.Flag
}

func newExplainCommand() *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME | KIND NAME",
		Short: "Show all that Evenkeel knows of one object, and what happens next",
		Long: `Explain judges one object now, by the policies and waivers in force in the
cluster, and shows with each verdict its waiver and the fix; who owns and manages the
object; what plans have changed, before and after; which breakers are open; and, in
words, what happens next. It changes nothing. Values of a Secret are never shown.

KIND is what kubectl knows it by: deployment, deploy, deployments.v1.apps.`,
		Example: `  evenkeel explain deploy/web -n shop
  evenkeel explain namespace shop
  evenkeel explain databases.example.com/orders -n shop -o yaml`,
	}
	o.flags = connect.TakesCluster(cmd)
	o.output = output.Takes(cmd, output.JSON, output.YAML)
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "",
		"the object's namespace (default: that of the kubeconfig's context)")
	o.tools.AddFlags(cmd.Flags())
	connect.CompletesFlag(cmd, "namespace", o.flags, connect.NamespaceNames)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = o.run
	return cmd
}

func (o *explainOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.output.Check(cmd); err != nil {
		return err
	}
	kind, name, err := objectNamed(args)
	if err != nil {
		return command.WronglyCalled(cmd, err)
	}
	e, err := o.explain(cmd.Context(), kind, name)
	if err != nil {
		return err
	}
	screen := terminal.NewScreen(cmd.OutOrStdout())
	return o.output.Data(screen.Out, e, func(out io.Writer) error {
		_, err := fmt.Fprintln(out, strings.Join(e.Draw(screen.Style), "\n"))
		return err
	})
}

// objectNamed reads KIND/NAME or KIND NAME.
func objectNamed(args []string) (kind, name string, err error) {
	switch len(args) {
	case 1:
		kind, name, _ = strings.Cut(args[0], "/")
	case 2:
		kind, name = args[0], args[1]
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", errors.New("name one object, as KIND/NAME or KIND NAME")
	}
	return kind, name, nil
}

func (o *explainOptions) explain(ctx context.Context, kind, name string) (*explain.Explanation, error) {
	c, err := o.flags.Client()
	if err != nil {
		return nil, err
	}
	object, namespace, unread, err := o.read(ctx, c, kind, name)
	if err != nil {
		return nil, err
	}
	inForce, err := o.inForce(ctx, c)
	if err != nil {
		return nil, err
	}
	inForce.Unread = append(unread, inForce.Unread...)
	e, err := explain.Explain(ctx, c, *inForce, object, namespace, o.tools.Value(), time.Now())
	if err != nil {
		return nil, connect.Failure("explain "+kind+"/"+name, err)
	}
	return e, nil
}

// inForce are the policies in force; no snapshot for whoever may not read them all, with all that was
// refused: the rest is told all the same.
func (o *explainOptions) inForce(ctx context.Context, c client.Client) (*explain.InForce, error) {
	set := &policySet{}
	refused, err := set.addInForce(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(refused) > 0 {
		inForce := &explain.InForce{}
		for _, err := range refused {
			inForce.Unread = append(inForce.Unread, "what the policies say isn't known: "+err.Error())
		}
		return inForce, nil
	}
	unread, err := overrides(ctx, c, set)
	if err != nil {
		return nil, err
	}
	inForce, err := enforceWhatCan(set)
	if err != nil {
		return nil, err
	}
	inForce.Unread = append(unread, inForce.Unread...)
	seeing, err := seeingCluster(ctx, o.flags, inForce.Snapshot)
	if err != nil {
		return nil, err
	}
	inForce.Snapshot = seeing[0]
	return inForce, nil
}

// enforceWhatCan puts those of the cluster's policies in force that can be, as they are written, and names the others.
func enforceWhatCan(set *policySet) (*explain.InForce, error) {
	inForce := &explain.InForce{}
	choice := policyChoice{cluster: true, leftOut: func(err error) {
		why, _, _ := strings.Cut(err.Error(), "\n")
		inForce.Unread = append(inForce.Unread, "left out, for it can't be in force as it is written: "+
			prose.OneLine(why))
	}}
	var err error
	if inForce.Snapshot, err = choice.enforce(set); err != nil {
		return nil, err
	}
	asked := inForce.Snapshot.Policies()
	inForce.NotLookedUp = map[string]string{}
	for _, p := range set.policies {
		inForce.NotLookedUp[p.Name] = explain.NotLookedUp(p)
		if !slices.ContainsFunc(asked, func(in *v1alpha1.ClusterRegoPolicy) bool { return in.Name == p.Name }) {
			inForce.LeftOut = append(inForce.LeftOut, p.Name)
		}
	}
	return inForce, nil
}

// overrides adds those of the cluster. Where they can't be read, the rest is told all the
// same; a cluster of an earlier version has none.
func overrides(ctx context.Context, c client.Reader, set *policySet) (unread []string, err error) {
	list := &v1alpha1.PolicyOverrideList{}
	switch err := c.List(ctx, list); {
	case apierrors.IsForbidden(err):
		return []string{"whether policies are overridden isn't known: " + err.Error() + "; " +
			permissions.Advice(err)}, nil
	case err != nil && !connect.IsMissingKind(err):
		return nil, connect.Failure("list overrides of policies", err)
	}
	set.overrides = list.Items
	return nil, nil
}
