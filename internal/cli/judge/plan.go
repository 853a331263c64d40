// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/manager/limitflags"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/planning"
	"evenkeel.dev/evenkeel/internal/wallclock"
)

const (
	// shownTargets is how many targets of a wave are named, and shownDiffs how many
	// fixes are shown, unless all are asked for.
	shownTargets = 10
	shownDiffs   = 3
)

// planOptions are the flags of plan.
type planOptions struct {
	policies        policyChoice
	output          string
	diff, all       bool
	controller      string
	namespace       string
	allowIncomplete bool
	tools           limitflags.Tools
	exempt          []string
	fixes           limitflags.Reach
	// careful are the manager\'s flags of that sort.
	careful limitflags.Floors
}

func newPlanCommand() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "plan POLICY",
		Short: "Show what the remediation of a policy would do now, without doing it",
		Long: `Plan shows the rollout that the controller would make of a policy's violations now:
its targets wave by wave, what is left alone and why, the changes, what would hold
it (windows, breakers, budgets, approval), the permissions that the controller lacks, and
how long it takes at the least. It reads the cluster and writes nothing; no dry run
is sent either, so what admission says of a fix isn't known. What fixes may write is
set by flags of the manager: use the same.

POLICY is a policy of the cluster, or with -p one that isn't applied yet; Evenkeel
needn't be installed then. Which targets come first is settled by the policy's UID:
for a policy that isn't in the cluster the sizes of the waves are right, and their
targets may be others.

It ends with code 0 when there is nothing to fix, with 1 when there is something,
with 2 when it was called wrongly, and with 3 when something couldn't be read.`,
		Example: `  evenkeel plan resource-limits
  evenkeel plan resource-limits --diff
  evenkeel plan resource-limits -p policies/reliability -o json`,
		Args: command.TakesArguments(1, 1, "policy"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	o.policies.connection = connect.TakesCluster(cmd)
	o.policies.stderr = cmd.ErrOrStderr
	connect.Completes(cmd, o.policies.connection, connect.PolicyNames)
	f := cmd.Flags()
	f.StringArrayVarP(&o.policies.paths, "policy", "p", nil, "a directory of policies in Rego, or a file or directory "+
		"of YAML of policies, in which POLICY is; may be given many times (default: the cluster)")
	f.StringVar(&o.namespace, "controller-namespace", "evenkeel-system",
		"the manager's own namespace, in which nothing is written")
	f.StringVarP(&o.output, "output", "o", "table", "one of json, table, yaml")
	f.BoolVar(&o.diff, "diff", false,
		fmt.Sprintf("show the change of every target, not of the first %d only", shownDiffs))
	f.BoolVar(&o.all, "all", false, fmt.Sprintf("name every target of a wave, not the first %d only", shownTargets))
	f.StringVar(&o.controller, "as-controller", defaultController,
		"the controller's ServiceAccount, whose permissions are asked for, as NAMESPACE/NAME")
	o.tools.AddFlags(f)
	f.StringSliceVar(&o.exempt, "exempt-namespaces", []string{"kube-system", "kube-node-lease"},
		"the manager's flag of that name: namespaces in which nothing is written, besides --controller-namespace")
	o.fixes.AddFlags(f)
	o.careful.AddFlags(f)
	f.BoolVar(&o.allowIncomplete, "allow-incomplete", false, "don't fail for what couldn't be read")
	return cmd
}

func (o *planOptions) run(cmd *cobra.Command, name string) error {
	if err := command.OneOf("-o", o.output, "json", "table", "yaml"); err != nil {
		return err
	}
	if err := errors.Join(o.fixes.Validate(), o.careful.Validate()); err != nil {
		return command.Exit(command.ExitUsage, err)
	}
	account, err := accountNamed(o.controller)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	pol, snapshot, alone, err := o.load(ctx, name)
	if err != nil {
		return err
	}
	walk, err := walkOf(o.policies.connection, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	report, err := look(ctx, walk, alone, check.Options{})
	if err != nil {
		return err
	}
	c, err := o.policies.connection.Client()
	if err != nil {
		return err
	}
	fixes := terminal.NewProgress(cmd.ErrOrStderr())
	previewer := &planning.Previewer{Reader: c, Mapper: c.RESTMapper(), Policies: inForce{snapshot},
		Clock: wallclock.New(), Tools: o.tools.Value(),
		Reach:  o.fixes.Value(append(slices.Clone(o.exempt), o.namespace)...),
		Floors: o.careful.Value(), Permissions: permissions.Of(c, account), Diffs: shownDiffs,
		Progress: func(done, all int) { fixes.Tell(done, all, fmt.Sprintf("fix %d of %d computed", done, all)) }}
	if o.diff {
		previewer.Diffs = -1
	}
	plan, err := previewer.Preview(ctx, pol, report.Findings())
	fixes.End()
	if err != nil {
		return connect.Failure("preview policy "+name, err)
	}
	o.complete(plan, report, pol)
	if err := o.write(cmd.OutOrStdout(), plan); err != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("write the plan: %w", err))
	}
	return o.verdict(plan, report)
}

// complete adds what the judging of the objects has told.
func (o *planOptions) complete(plan *preview.Plan, report *check.Report, pol *v1alpha1.ClusterRegoPolicy) {
	for i := range report.Results {
		r := &report.Results[i]
		switch {
		case r.Err != nil:
			plan.Skipped = append(plan.Skipped,
				preview.Target{Object: r.Reference(), Reason: v1alpha1.ReasonEvaluationError,
					Message: r.Err.Error()})
		case r.Waived != nil:
			plan.Skipped = append(plan.Skipped,
				preview.Target{Object: r.Reference(), Reason: v1alpha1.ReasonWaived,
					Message: r.Waived.String()})
		}
	}
	if pol.UID == "" {
		plan.Notes = append(plan.Notes,
			"the policy isn't in the cluster: which targets come first is settled once it is applied")
	}
	if o.policies.unlisted != nil {
		report.Incomplete = append(report.Incomplete, o.policies.unlisted.Error())
	}
	plan.Notes = append(plan.Notes, report.Incomplete...)
}

// load reads the policy, all that would be in force beside it, and the policy alone
// with the waivers.
func (o *planOptions) load(ctx context.Context, name string) (pol *v1alpha1.ClusterRegoPolicy, all,
	alone *catalog.Snapshot, err error) {
	o.policies.kinds = o.policies.kindsServed
	given, err := o.policies.given(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	set := &policySet{}
	if err := set.addCluster(ctx, o.policies.connection); err != nil &&
		(given.size() == 0 || !connect.IsMissingKind(err)) {
		return nil, nil, nil, err
	}
	set.withGiven(given)
	i := slices.IndexFunc(set.policies, func(p *v1alpha1.ClusterRegoPolicy) bool { return p.Name == name })
	if i < 0 {
		return nil, nil, nil, command.Exit(
			command.ExitUsage, fmt.Errorf(
				"there is no policy %q, in the cluster or at -p: see kubectl get clusterregopolicies.evenkeel.dev",
				name))
	}
	if all, err = o.policies.enforce(set); err != nil {
		return nil, nil, nil, err
	}
	if alone, err = o.policies.enforce(set.alone(set.policies[i : i+1])); err != nil {
		return nil, nil, nil, err
	}
	seeing, err := seeingCluster(ctx, o.policies.connection, all, alone)
	if err != nil {
		return nil, nil, nil, err
	}
	return set.policies[i], seeing[0], seeing[1], nil
}

// override puts policies in the place of those of their names, as applying them
// would.
func (s *policySet) override(policies []*v1alpha1.ClusterRegoPolicy) {
	for _, p := range policies {
		i := slices.IndexFunc(s.policies, func(old *v1alpha1.ClusterRegoPolicy) bool { return old.Name == p.Name })
		if i < 0 {
			s.policies = append(s.policies, p)
			continue
		}
		p.UID, p.Annotations = s.policies[i].UID, s.policies[i].Annotations
		s.policies[i] = p
	}
}

func (o *planOptions) write(to io.Writer, plan *preview.Plan) error {
	out := terminal.NewScreen(to)
	switch o.output {
	case "json":
		text, err := json.MarshalIndent(plan, "", "  ")
		if err != nil {
			return err
		}
		_, err = out.Out.Write(append(prose.JSON(text), '\n'))
		return err
	case "yaml":
		text, err := yaml.Marshal(plan)
		if err != nil {
			return err
		}
		_, err = out.Out.Write(text)
		return err
	}
	shown := shownTargets
	if o.all || o.diff {
		shown = 0
	}
	return out.Print(display.DrawPlan(plan, out.Style, shown))
}

func (o *planOptions) verdict(plan *preview.Plan, report *check.Report) error {
	switch {
	case len(report.Incomplete) > 0 && !o.allowIncomplete:
		return command.Exit(command.ExitFailure, errors.New("not everything could be read, so the controller's plan "+
			"may hold more: see the notes; to accept that: --allow-incomplete"))
	case plan.Targets() > 0:
		return command.Exit(command.ExitFailed,
			fmt.Errorf("there is something to fix: objects %d, policy %s", plan.Targets(), plan.Policy))
	}
	return nil
}

// inForce are policies that nobody changes meanwhile.
type inForce struct{ snapshot *catalog.Snapshot }

// Snapshot is the policies.
func (f inForce) Snapshot() *catalog.Snapshot { return f.snapshot }

// Complete is true: all were read.
func (f inForce) Complete() bool { return true }
