// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/internal/prose"
)

// applyOptions are the flags of migrate gatekeeper apply.
type applyOptions struct {
	metadata
	flags       *connect.Flags
	yes, dryRun bool
	force       bool
}

func newApplyCommand() *cobra.Command {
	o := &applyOptions{}
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Write the policies of a cluster's constraints to it, which only record",
		Long: `Apply reads Gatekeeper's ConstraintTemplates, constraints, Config and SyncSets from the
cluster, and writes to it what they become: RegoTemplates, and ClusterRegoPolicies whose
admission.action is Audit, whatever the constraints do. What can't be expressed is listed with
what to do, and nothing of it is written. Gatekeeper's objects stay as they are.

It can be run again at any time: a policy that is there keeps its admission.action, and takes
over what has changed of its constraint. A policy or template that wasn't written by this command,
or that somebody else has changed, is left as it is; --force-conflicts writes over such a change.
A policy that enforces keeps the kinds that the cluster doesn't serve
just now, as while a CustomResourceDefinition is replaced.

It ends with code 0 when all constraints have their policies, with 1 when something needs work or
was left as it is, with 2 when it was called wrongly, and with 3 when something couldn't be read.`,
		Example: `  evenkeel migrate gatekeeper apply --dry-run
  evenkeel migrate gatekeeper apply --owner platform-security --severity High --yes`,
		Args: command.TakesArguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	o.flags = connect.TakesCluster(cmd)
	o.addFlags(cmd)
	takesConsent(cmd, &o.yes, &o.dryRun)
	cmd.Flags().BoolVar(&o.force, "force-conflicts", false, "write over what somebody else has changed of a policy or "+
		"template that this command wrote")
	return cmd
}

func takesConsent(cmd *cobra.Command, yes, dryRun *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "don't ask")
	cmd.Flags().BoolVar(dryRun, "dry-run", false, "say what would be done, and change nothing")
}

func (o *applyOptions) run(cmd *cobra.Command) error {
	if err := o.validate(); err != nil {
		return err
	}
	e, err := readEstate(cmd.Context(), o.flags)
	if err != nil {
		return err
	}
	if err := e.knowsWebhook(); err != nil {
		return command.Exit(command.ExitFailed, err)
	}
	opts := o.options(e.source.Options())
	opts.Names, opts.Enforced = e.names(), e.enforced()
	items := gatekeeper.Migrate(e.source.Documents, opts)
	out := cmd.OutOrStdout()
	if err := o.tellOf(cmd, out, items); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	e.tellExemptions(out)
	if err := o.ask(cmd, items); err != nil {
		return err
	}
	if err := o.write(cmd.Context(), out, e, items); err != nil {
		return command.Exit(command.ExitFailed, err)
	}
	return verdictOf(items, nil)
}

func (o *applyOptions) ask(cmd *cobra.Command, items []gatekeeper.Item) error {
	templates, policies := 0, 0
	for i := range items {
		switch {
		case items[i].Template != nil:
			templates++
		case items[i].Policy != nil:
			policies++
		}
	}
	what := fmt.Sprintf("%s, and %s that only record", prose.Count(templates, "RegoTemplate"),
		prose.Count(policies, "ClusterRegoPolicy"))
	return consent(cmd, o.yes || o.dryRun, "Apply "+what+"?")
}

func consent(cmd *cobra.Command, answered bool, question string) error {
	if answered {
		return nil
	}
	yes, err := terminal.Confirm(cmd.InOrStdin(), cmd.OutOrStdout(), question)
	if err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	if !yes {
		return command.Exit(command.ExitFailed, errors.New("nothing was changed"))
	}
	return nil
}

// write writes the templates, and then the policies that name them. What is refused keeps nothing else from being
// written but the policies of a template.
func (o *applyOptions) write(ctx context.Context, out io.Writer, e *estate, items []gatekeeper.Item) error {
	origins, refused := e.origins()
	applier := &live.Applier{Client: e.client, DryRun: o.dryRun, Force: o.force}
	apply := func(object client.Object, kind, of string) bool {
		from, known := origins[of]
		if !known {
			return false // why, is among what is refused
		}
		outcome, err := applier.Apply(ctx, object, kind, from)
		if err != nil {
			refused = append(refused, err)
			return false
		}
		note := ""
		if o.dryRun {
			note = " (dry run)"
		}
		fmt.Fprintf(out, "%s.evenkeel.dev/%s %s%s\n", strings.ToLower(kind), object.GetName(), outcome, note)
		return true
	}
	unwritten := inTurn(items, apply)
	return errors.Join(append(refused, unwritten...)...)
}

// inTurn has the templates applied, and then the policies, and says which policies aren't since their template wasn't.
func inTurn(items []gatekeeper.Item, apply func(object client.Object, kind, of string) bool) []error {
	old := map[string]bool{} // templates that aren't as their constraints need them
	for i := range items {
		if t := items[i].Template; t != nil {
			old[t.Name] = !apply(t, "RegoTemplate", items[i].Object)
		}
	}
	var refused []error
	for i := range items {
		p := items[i].Policy
		switch {
		case p == nil:
		case p.Spec.TemplateRef != nil && old[p.Spec.TemplateRef.Name]:
			refused = append(refused, fmt.Errorf("policy %s isn't written, since RegoTemplate %s wasn't", p.Name,
				p.Spec.TemplateRef.Name))
		default:
			apply(p, "ClusterRegoPolicy", items[i].Object)
		}
	}
	return refused
}

// origins are what objects become policies and templates, by KIND/NAME, and why some can't.
func (e *estate) origins() (map[string]live.Origin, []error) {
	origins := map[string]live.Origin{}
	for i := range e.source.Documents {
		origin := live.OriginOf(e.source.Documents[i].Object)
		origins[origin.ID] = origin
	}
	var refused []error
	for _, c := range e.source.Constraints {
		if _, err := e.policyOf(c); err != nil {
			refused = append(refused, err)
			delete(origins, c.ID())
			continue
		}
		origins[c.ID()] = e.source.Origin(c)
	}
	return origins, refused
}
