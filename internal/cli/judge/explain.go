// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/explain"
	"evenkeel.dev/evenkeel/internal/manager/limitflags"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
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
		Short: "Tell everything that Evenkeel knows of one object, and what happens next",
		Long: `Explain judges one object now, by the policies and waivers in force in the
cluster, and tells with each verdict its waiver and the fix; who owns and manages the
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
	object, namespace, err := o.read(ctx, c, kind, name)
	if err != nil {
		return nil, err
	}
	snapshot, unread, err := o.inForce(ctx)
	if err != nil {
		return nil, err
	}
	e, err := explain.Explain(ctx, c, snapshot, object, namespace, o.tools.Value(), time.Now())
	if err != nil {
		return nil, connect.Failure("explain "+kind+"/"+name, err)
	}
	e.Unread = append(e.Unread, unread...)
	return e, nil
}

// inForce are the policies in force; nil for whoever may not read them all, with what was
// refused: the rest is told all the same.
func (o *explainOptions) inForce(ctx context.Context) (*catalog.Snapshot, []string, error) {
	set := &policySet{}
	if err := set.addCluster(ctx, o.flags); apierrors.IsForbidden(err) {
		return nil, []string{"what the policies say isn't known: " + err.Error()}, nil
	} else if err != nil {
		return nil, nil, err
	}
	unread, err := o.overrides(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	choice := policyChoice{cluster: true, connection: o.flags}
	snapshot, err := choice.enforce(set)
	return snapshot, unread, err
}

// overrides adds those of the cluster. Where they can't be read, the rest is told all the
// same; a cluster of an earlier version has none.
func (o *explainOptions) overrides(ctx context.Context, set *policySet) (unread []string, err error) {
	c, err := o.flags.Client()
	if err != nil {
		return nil, err
	}
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

// read reads the object, and the Namespace that it lives in.
func (o *explainOptions) read(ctx context.Context, c client.Reader, kind, name string) (
	object, namespace *unstructured.Unstructured, err error) {
	mapping, err := o.mapping(kind)
	if err != nil {
		return nil, nil, err
	}
	object = &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	key := client.ObjectKey{Name: name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if key.Namespace, err = o.inNamespace(); err != nil {
			return nil, nil, err
		}
	}
	if err := c.Get(ctx, key, object); err != nil {
		if key.Namespace != "" && o.namespace == "" && apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w; give its namespace with -n", err)
		}
		return nil, nil, connect.Failure(
			fmt.Sprintf("read %s %s", mapping.GroupVersionKind.Kind, strings.TrimPrefix(key.String(), "/")), err)
	}
	if key.Namespace == "" {
		return object, nil, nil
	}
	namespace = &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err := c.Get(ctx, client.ObjectKey{Name: key.Namespace}, namespace); err != nil {
		return nil, nil, connect.Failure("read namespace "+key.Namespace, err)
	}
	return object, namespace, nil
}

func (o *explainOptions) inNamespace() (string, error) {
	if o.namespace != "" {
		return o.namespace, nil
	}
	namespace, _, err := o.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", command.Exit(command.ExitUsage, fmt.Errorf("no namespace: %w; give -n", err))
	}
	return namespace, nil
}

// mapping finds a kind as kubectl does: by its plural, singular or short name,
// with the version and group behind it or without.
func (o *explainOptions) mapping(kind string) (*meta.RESTMapping, error) {
	mapper, err := o.flags.ToRESTMapper()
	if err != nil {
		return nil, connect.Failure("ask which kinds there are", err)
	}
	full, resource := schema.ParseResourceArg(strings.ToLower(kind))
	var gvk schema.GroupVersionKind
	if full != nil {
		gvk, err = mapper.KindFor(*full)
	}
	if full == nil || err != nil {
		gvk, err = mapper.KindFor(resource.WithVersion(""))
	}
	if err == nil {
		var mapping *meta.RESTMapping
		if mapping, err = mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			return mapping, nil
		}
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, command.Exit(command.ExitFailure,
			fmt.Errorf("the cluster serves no kind %q; see: kubectl api-resources", kind))
	}
	return nil, connect.Failure("find the kind "+kind, err)
}
