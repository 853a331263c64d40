// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/fix"
	"evenkeel.dev/evenkeel/internal/check/format"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/version"
)

// collectAt lets a check, which is short, collect garbage seldom, unless GOGC says how often; a memory limit
// (GOMEMLIMIT) still holds.
const collectAt = 400

// checkOptions are the flags of check.
type checkOptions struct {
	policies  policyChoice
	namespace string
	output    string
	failOn    string
	diff      bool
	summary   bool
	groupBy   []string
	trace     bool
}

func newCheckCommand() *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check PATH…|-",
		Short: "Judge manifests by policies, as admission would",
		Long: `Check judges the objects in files, in directories and on standard input by the
library of policies in the binary, by those that -p names, or with --in-force by
those in force in a cluster. It finds what admission would find: the engine is the
same, Namespaces among the manifests are known to the policies, and
Waivers among them waive until they expire.

It ends with code 0 when nothing was found, with 1 when a policy that denies or
warns is violated (see --fail-on), with 2 when it was called wrongly, and with 3
when something couldn't be read or judged; what could be is still reported.`,
		Example: `  evenkeel check deploy/
  kustomize build overlays/prod | evenkeel check -
  helm template shop ./chart | evenkeel check -n shop -p policies -
  evenkeel check --in-force -o sarif deploy/ > evenkeel.sarif`,
		SilenceUsage: true,
		RunE:         func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	cmd.Args = command.TakesPaths
	o.policies.connection, o.policies.offline = connect.TakesCluster(cmd), true
	o.policies.stderr = cmd.ErrOrStderr
	o.policies.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "default", "the namespace of objects that name none")
	cmd.Flags().StringVarP(&o.output, "output", "o", "table", "one of "+strings.Join(format.Names(), ", "))
	cmd.Flags().BoolVar(&o.diff, "diff", false, "show each fix that is proven to work, as a diff")
	cmd.Flags().BoolVar(&o.summary, "summary", false,
		"say how much was found of which policies and in which namespaces, and leave the findings out; without it "+
			"more "+
			"than 50 findings begin so")
	cmd.Flags().BoolVar(&o.trace, "trace", false,
		"tell on standard error, step by step, how each policy is evaluated on each object: best with --only and one "+
			"object")
	cmd.Flags().StringSliceVar(&o.groupBy, "group-by", nil,
		"begin with how much was found by each of these: "+strings.Join(format.Groups(), ", "))
	command.CompletesWith(cmd, "group-by", format.Groups()...)
	cmd.Flags().StringVar(&o.failOn, "fail-on", "warn",
		"the mildest admission action whose violations end with code 1: deny, warn, audit or never")
	return cmd
}

func (o *checkOptions) validate() error {
	if err := command.OneOf("-o", o.output, format.Names()...); err != nil {
		return err
	}
	for _, group := range o.groupBy {
		if err := command.OneOf("--group-by", group, format.Groups()...); err != nil {
			return err
		}
	}
	if (o.summary || len(o.groupBy) > 0) && o.output != "table" {
		return command.Exit(command.ExitUsage, errors.New("--summary and --group-by are for -o table: leave them out"))
	}
	_, err := failsOn(o.failOn)
	return err
}

func (o *checkOptions) run(cmd *cobra.Command, paths []string) error {
	if err := o.validate(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	}
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	documents, unread := manifest.Read(
		ctx, paths, cmd.InOrStdin(), manifest.Options{
			Skipped: func(p manifest.Problem) { fmt.Fprintf(stderr, "skipped %s\n", p) },
		})
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(documents) == 0 && unread == nil {
		unread = errors.New(
			"no Kubernetes object was found: name files, or directories with .yaml, .yml or .json files")
	}
	report, err := o.judge(ctx, stderr, documents)
	if err != nil {
		return err
	}
	out := terminal.NewScreen(cmd.OutOrStdout())
	how := format.Options{Style: out.Style, Version: version.String(), Summary: o.summary, GroupBy: o.groupBy}
	if err := format.Write(out.Out, o.output, report, how); err != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("write the report: %w", err))
	}
	return o.verdict(report, unread)
}

// judge judges the documents. The waivers among them waive too.
func (o *checkOptions) judge(ctx context.Context, stderr io.Writer, documents []manifest.Document) (
	*check.Report, error) {
	among := &policySet{}
	if err := among.addDocuments(ctx, documents, o.namespace); err != nil {
		return nil, err
	}
	o.policies.kinds = kindsOf(documents)
	snapshot, err := o.policies.load(ctx, among.waivers...)
	if err != nil {
		return nil, err
	}
	warnOfMisspelt(stderr, snapshot, documents)
	subjects := check.Of(documents, o.namespace, o.policies.namespaces)
	snapshot, _ = seeingSubjects(stderr, snapshot, subjects)
	opts := check.Options{Now: time.Now(), Fix: o.diff || o.output == format.SARIF, Clean: o.output == format.JUnit}
	if opts.Fix {
		opts.Fixed = fix.Teller(snapshot, opts.Now)
	}
	if o.trace {
		opts.Workers = 1
		opts.Took = tracing(ctx, stderr, snapshot.Traced(), opts.Now)
	} else {
		done, stop := terminal.NewProgress(stderr).Count(len(subjects), "objects judged")
		defer stop()
		opts.Judged = done
	}
	report, err := check.Run(ctx, snapshot, check.Each(subjects), opts)
	if err == nil && o.output == format.SARIF {
		fix.Locate(report)
	}
	return report, err
}

// verdict is how the command ends.
func (o *checkOptions) verdict(report *check.Report, unread error) error {
	if unread != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("not everything could be read:\n%w", unread))
	}
	if n := report.Summary().Errors; n > 0 {
		return command.Exit(command.ExitFailure,
			fmt.Errorf("not everything could be judged: errors: %d, see the report%s", n, unknownNamespaces(report)))
	}
	if err := o.policies.unjudged(); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	fails, err := failsOn(o.failOn)
	if err != nil {
		return err
	}
	for i := range report.Results {
		r := &report.Results[i]
		if len(r.Violations) > 0 && r.Waived == nil && slices.Contains(fails, r.Policy.Spec.Admission.Action) {
			return command.Exit(command.ExitFailed, errors.New("policies are violated: see the report"))
		}
	}
	return nil
}

// unknownNamespaces says how to make namespaces known that a policy selects by
// their labels.
func unknownNamespaces(report *check.Report) string {
	for i := range report.Results {
		r := &report.Results[i]
		if r.Err != nil && r.Policy.Spec.Match.NamespaceSelector != nil && r.Namespace == nil && r.File != "" {
			return "; a policy that selects namespaces by label needs to see them: give their manifests too, or " +
				"--in-force"
		}
	}
	return ""
}

// failsOn are the admission actions whose violations fail a check.
func failsOn(mildest string) ([]v1alpha1.AdmissionAction, error) {
	order := []v1alpha1.AdmissionAction{v1alpha1.AdmissionDeny, v1alpha1.AdmissionWarn, v1alpha1.AdmissionAudit}
	for i, action := range order {
		if strings.EqualFold(mildest, string(action)) {
			return order[:i+1], nil
		}
	}
	if strings.EqualFold(mildest, "never") {
		return nil, nil
	}
	return nil, command.Exit(command.ExitUsage,
		fmt.Errorf("--fail-on %q isn't supported: use deny, warn, audit or never%s", mildest,
			prose.DidYouMean(mildest, []string{"deny", "warn", "audit", "never"})))
}
