// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/prose"
)

// defaultController is the ServiceAccount that config/ runs the controller as.
const defaultController = "evenkeel-system/evenkeel"

// rbacOptions are the flags of rbac.
type rbacOptions struct {
	policies   policyChoice
	name       string
	existing   bool
	controller string
	offline    bool
}

func newRBACCommand() *cobra.Command {
	o := &rbacOptions{}
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Print the minimal ClusterRoles that the controller needs for a set of policies",
		Long: `RBAC prints what the controller must be allowed for the policies: to read and watch
the kinds that they match, and, for each that is to fix anything, to carry out its
spec.remediation.allowedActions. The roles carry the labels by which the
controller's own roles take them up: once they are applied, the permissions are there.

The names of resources come from the cluster that the kubeconfig names. Where none
answers, or with --offline, those of Kubernetes' own kinds are known, and those of
others are guessed, which a comment says.

A policy of the cluster that can't come into force as it is written is left out, and named.

With --existing the roles hold what the controller lacks, and before it all that the
cluster's roles of these names grant already: to apply them takes nothing away.

It ends with code 0 when it has printed the roles, with --existing with 1 when some
permission is missing, with 2 when it was called wrongly, and with 3 when it couldn't do
its work.`,
		Example: `  evenkeel rbac -p policies > roles.yaml
  evenkeel rbac --in-force | kubectl apply -f -
  evenkeel rbac --in-force --existing | kubectl apply -f -`,
		Args: command.TakesArguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	o.policies.connection = connect.TakesCluster(cmd)
	o.policies.stderr = cmd.ErrOrStderr
	o.policies.AddFlags(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "evenkeel-policies", "what the names of the roles begin with")
	f.BoolVar(&o.existing, "existing", false,
		"print what the controller lacks, by asking the cluster, added to what it was granted")
	f.StringVar(&o.controller, "as-controller", defaultController, "the controller's ServiceAccount, as NAMESPACE/NAME")
	f.BoolVar(&o.offline, "offline", false, "ask no cluster")
	return cmd
}

func (o *rbacOptions) run(cmd *cobra.Command) error {
	if o.offline && (o.existing || o.policies.cluster) {
		return command.Exit(command.ExitUsage,
			errors.New("--offline asks no cluster, which --existing and --in-force need: leave one of them out"))
	}
	account, err := accountNamed(o.controller)
	if err != nil {
		return err
	}
	o.policies.leftOut = func(err error) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: left out, for it isn't in force as it is written: %s\n",
			prose.OneLine(err.Error()))
	}
	snapshot, err := o.policies.load(cmd.Context())
	if err != nil {
		return err
	}
	resources, err := o.resources(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	least, err := permissions.LeastFor(snapshot.Policies(), resources)
	if err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	if !o.existing {
		return printRoles(cmd.OutOrStdout(), least.Notes, least.Roles(o.name))
	}
	return o.printLacking(cmd, least, account)
}

// printLacking prints the part of the roles that the controller hasn't got.
func (o *rbacOptions) printLacking(cmd *cobra.Command, least *permissions.Least, account types.NamespacedName) error {
	c, err := o.policies.connection.Client()
	if err != nil {
		return err
	}
	missing, err := least.Lacking(cmd.Context(), permissions.Of(c, account))
	if err != nil {
		return command.Exit(command.ExitFailure, explainReview(err))
	}
	roles := missing.Roles(o.name)
	if len(roles) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "nothing is missing: %s may do all that the policies need\n", account)
		return nil
	}
	for i := range roles {
		if err := addToGranted(cmd.Context(), c, &roles[i]); err != nil {
			return command.Exit(command.ExitFailure, err)
		}
	}
	if err := printRoles(cmd.OutOrStdout(), missing.Notes, roles); err != nil {
		return err
	}
	return command.Exit(command.ExitFailed,
		fmt.Errorf("ServiceAccount %s lacks permissions: apply the roles above", account))
}

// resources asks the cluster for the names of resources, where one answers.
func (o *rbacOptions) resources(stderr io.Writer) (permissions.Resources, error) {
	if o.offline {
		return permissions.BuiltIn(), nil
	}
	_, kinds, err := o.policies.connection.Untyped()
	if o.policies.connection.IsRefused() {
		return nil, err
	}
	if err == nil {
		_, err = kinds.ServerGroups()
	}
	if err != nil && (o.existing || o.policies.cluster) {
		return nil, command.Exit(command.ExitFailure, fmt.Errorf("ask the cluster which kinds it serves: %w", err))
	}
	if err != nil {
		fmt.Fprintf(stderr,
			"note: no cluster answers, so the names of resources are those of Kubernetes' own kinds: %v\n", err)
		return permissions.BuiltIn(), nil
	}
	return permissions.Served(mapperOf(kinds)), nil
}

func mapperOf(kinds discovery.DiscoveryInterface) *restmapper.DeferredDiscoveryRESTMapper {
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
}

// addToGranted puts what the cluster's role of the same name grants before the rules of a role, so that
// applying it takes nothing away.
func addToGranted(ctx context.Context, c client.Reader, role *rbacv1.ClusterRole) error {
	granted := &rbacv1.ClusterRole{}
	err := c.Get(ctx, client.ObjectKeyFromObject(role), granted)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read ClusterRole %s, whose rules must not be lost: %w; give a --name that no role has yet, "+
			"or ask for the permission to get clusterroles.rbac.authorization.k8s.io", role.Name, err)
	case !labels.SelectorFromSet(role.Labels).Matches(labels.Set(granted.Labels)):
		return fmt.Errorf("ClusterRole %s is there for something else, for it lacks the label %s: give another --name",
			role.Name, strings.Join(slices.Sorted(maps.Keys(role.Labels)), ", "))
	case granted.AggregationRule != nil:
		return fmt.Errorf("ClusterRole %s is made of other roles by its aggregationRule, and rules of its own "+
			"wouldn't stay: give another --name", role.Name)
	}
	role.Rules = append(slices.Clone(granted.Rules), role.Rules...)
	role.Labels = granted.Labels // which ours are among
	return nil
}

// explainReview says what is missing to ask for another's permissions.
func explainReview(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("you may not ask what the controller may do: ask for the permission to create "+
			"subjectaccessreviews.authorization.k8s.io: %w", err)
	}
	return err
}

// printRoles writes the roles, ready for kubectl apply.
func printRoles(out io.Writer, notes []string, roles []rbacv1.ClusterRole) error {
	for _, note := range notes {
		if _, err := fmt.Fprintf(out, "# Note: %s.\n", prose.OneLine(note)); err != nil {
			return err
		}
	}
	for _, role := range roles {
		text, err := yaml.Marshal(role)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// accountNamed reads NAMESPACE/NAME.
func accountNamed(text string) (types.NamespacedName, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{},
			command.Exit(command.ExitUsage, fmt.Errorf("--as-controller %q isn't of the form NAMESPACE/NAME", text))
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
