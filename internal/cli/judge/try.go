// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/format"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/version"
)

// tryOptions are the flags of policy try; those that scan has mean the same.
type tryOptions struct {
	scanOptions
	// unknown says what of the policies in force isn't known, once load has asked for them.
	unknown []string
}

// NewTryCommand is the command policy try, on the cluster that flags name.
func NewTryCommand(flags *connect.Flags) *cobra.Command {
	o := &tryOptions{}
	o.policies.connection = flags
	cmd := &cobra.Command{
		Use:   "try PATH…",
		Short: "Try policies on what lives in a cluster: what they would refuse and fix, and how long they take",
		Long: `Try judges the objects of a cluster by policies that needn't be applied: a directory of policies in
Rego, or files of YAML. It says of each policy how many objects violate it, what admission would do with them if
they were created now, how many of the fixes are proven to work beside the policies in force, why the others
aren't, and how long an object takes on this machine. It writes nothing, and sends no dry run; Evenkeel needn't
be installed. What you may not read is reported, and the rest is tried all the same.

It ends with code 0 when nothing violates them, with 1 when a policy that denies or warns is violated (see
--fail-on), with 2 when it was called wrongly, and with 3 when something couldn't be read or judged.`,
		Example: `  evenkeel policy try no_escalation
  evenkeel policy try no_escalation -n shop --diff
  evenkeel policy try policies/security -o json --fail-on never`,
	}
	cmd.Args = command.TakesPaths
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		o.policies.paths, o.policies.stderr = paths, cmd.ErrOrStderr
		return o.run(cmd)
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	f := cmd.Flags()
	o.policies.rego.AddFlags(f)
	f.StringVarP(&o.namespace, "namespace", "n", "",
		"check this namespace only; kinds that live in none are left out")
	f.StringVarP(&o.selector, "selector", "l", "", "check objects with such labels only")
	f.StringVarP(&o.output, "output", "o", "table", "one of json, table, yaml")
	f.StringVar(&o.failOn, "fail-on", "warn",
		"the mildest admission action whose violations end with code 1: deny, warn, audit or never")
	f.IntVar(&o.top, "top", 5, "how many of the worst objects the table shows; 0 means all")
	f.BoolVar(&o.diff, "diff", false, "show the fixes of these objects as diffs")
	f.BoolVar(&o.allowIncomplete, "allow-incomplete", false, "don't fail for what couldn't be read")
	return cmd
}

func (o *tryOptions) run(cmd *cobra.Command) error {
	if err := command.OneOf("-o", o.output, "json", "table", "yaml"); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	ctx := cmd.Context()
	tried, all, inForce, err := o.load(ctx)
	if err != nil {
		return err
	}
	seeing, err := seeingCluster(ctx, o.policies.connection, tried, all)
	if err != nil {
		return err
	}
	tried, all = seeing[0], seeing[1]
	walk, err := walkOf(o.policies.connection, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	walk.Namespace, walk.Selector = o.namespace, o.selector
	trials := check.NewTrials(tried)
	report, err := look(ctx, walk, tried, check.Options{Fix: true, Among: all, Took: trials.Took})
	if err != nil {
		return err
	}
	report.Incomplete = slices.Concat(o.unknown, o.policies.incomplete(), report.Incomplete)
	walk.notes(cmd.ErrOrStderr())
	found := trials.Of(report)
	for i := range found {
		found[i].InForce = inForce[found[i].Policy]
	}
	if err := o.write(cmd.OutOrStdout(), found, report); err != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("write the report: %w", err))
	}
	return o.verdict(report)
}

// load reads the policies that are tried, and puts them in the place of those of their names among all in force, whose
// revisions it tells by name.
func (o *tryOptions) load(ctx context.Context) (tried, all *catalog.Snapshot, inForce map[string]string, err error) {
	o.policies.kinds = o.policies.kindsServed
	given, err := o.policies.given(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(given.policies) == 0 {
		return nil, nil, nil, command.Exit(command.ExitUsage,
			fmt.Errorf("there is no policy at %s: name a directory of policies in Rego, or a file of YAML",
				strings.Join(o.policies.paths, ", ")))
	}
	if err := o.policies.filter(given); err != nil {
		return nil, nil, nil, err
	}
	set, err := o.inForce(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	inForce = map[string]string{}
	for _, p := range set.policies {
		inForce[p.Name] = p.Status.Revision
	}
	set.withGiven(given)
	o.policies.tried = given.policies
	o.policies.leftOut = func(err error) {
		o.unknown = append(o.unknown, fmt.Sprintf("the fixes are tried without one that is in force: %v", err))
	}
	if all, err = o.policies.enforce(set); err != nil {
		return nil, nil, nil, err
	}
	tried, err = o.policies.enforce(set.alone(given.policies))
	return tried, all, inForce, err
}

// inForce are the policies in force and what comes with them, as far as they may be read; none where Evenkeel's kinds
// aren't installed.
func (o *tryOptions) inForce(ctx context.Context) (*policySet, error) {
	c, err := o.policies.connection.Client()
	if err != nil {
		return nil, err
	}
	set := &policySet{}
	refused, err := set.addInForce(ctx, c)
	if err != nil && !connect.IsMissingKind(err) {
		return nil, err
	}
	for _, err := range refused {
		o.unknown = append(o.unknown,
			"what is in force is available in part, and how the fixes get along with it: "+err.Error())
	}
	return set, nil
}

func (o *tryOptions) write(to io.Writer, trials []check.Trial, report *check.Report) error {
	if o.output != "table" {
		return writeTrials(to, o.output, trials, report)
	}
	out := terminal.NewScreen(to)
	drawTrials(out.Out, trials, out.Style)
	if len(report.Results) > 0 || len(report.Incomplete) > 0 {
		shown := *report
		if !o.diff {
			shown.Results = withoutFixes(report.Results)
		}
		opts := format.Options{Style: out.Style, Version: version.String()}
		if err := format.WriteOverview(out.Out, &shown, o.top, opts); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out.Out, "\n"+nextSteps(trials, o.policies.paths))
	return err
}

// withoutFixes are results whose diffs nobody wants to see.
func withoutFixes(results []check.Result) []check.Result {
	results = slices.Clone(results)
	for i := range results {
		results[i].Fix, results[i].NoFix = "", ""
	}
	return results
}

// writeTrials writes the trials for programs.
func writeTrials(to io.Writer, how string, trials []check.Trial, report *check.Report) error {
	text, err := json.MarshalIndent(struct {
		Policies   []check.Trial `json:"policies"`
		Incomplete []string      `json:"incomplete,omitempty"`
	}{trials, report.Incomplete}, "", "  ")
	if err == nil && how == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	if how != "yaml" {
		text = prose.JSON(text)
	}
	_, err = fmt.Fprintln(to, strings.TrimSpace(string(text)))
	return err
}
