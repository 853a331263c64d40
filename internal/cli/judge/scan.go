// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/format"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/scan/listing"
	"evenkeel.dev/evenkeel/internal/version"
)

// scanOptions are the flags of scan.
type scanOptions struct {
	policies        policyChoice
	namespace       string
	all             bool
	selector        string
	output          string
	failOn          string
	top             int
	diff            bool
	allowIncomplete bool
}

func newScanCommand() *cobra.Command {
	o := &scanOptions{}
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "Judge what lives in a cluster, without installing anything in it",
		Long: `Scan reads the objects of every kind that the policies concern from the cluster
that the kubeconfig names, judges them as the controller's scan would, and says what
it found: by severity, namespace, owner and policy, then the worst objects. It
writes nothing, and Evenkeel needn't be installed in the cluster.

Pods that a controller makes are judged at the object that holds their template.
A kind that you may not list makes the result incomplete: that is said, and the
command ends with code 3 unless --allow-incomplete is given.

It ends with code 0 when nothing was found, with 1 when a policy that denies or
warns is violated (see --fail-on), with 2 when it was called wrongly, and with 3
when something couldn't be read or judged; what could be is still reported.`,
		Example: `  evenkeel scan
  evenkeel scan -n shop -p policies
  evenkeel scan --in-force -o json > findings.json
  evenkeel scan --severity High --fail-on deny --top 5`,
		Args: command.TakesArguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	o.policies.connection = connect.TakesCluster(cmd)
	o.policies.stderr = cmd.ErrOrStderr
	o.policies.AddFlags(cmd.Flags())
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "",
		"check this namespace only; kinds that live in none are left out")
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "check the whole cluster (the default)")
	f.StringVarP(&o.selector, "selector", "l", "", "check objects with such labels only")
	f.StringVarP(&o.output, "output", "o", "table", "one of "+strings.Join(format.Names(), ", "))
	f.StringVar(&o.failOn, "fail-on", "warn",
		"the mildest admission action whose violations end with code 1: deny, warn, audit or never")
	f.IntVar(&o.top, "top", 20, "how many of the worst objects the table shows; 0 means all")
	f.BoolVar(&o.diff, "diff", false, "show each fix that is proven to work, as a diff")
	f.BoolVar(&o.allowIncomplete, "allow-incomplete", false, "don't fail for what couldn't be read")
	return cmd
}

func (o *scanOptions) validate() error {
	if o.all && o.namespace != "" {
		return command.Exit(command.ExitUsage,
			errors.New("--all-namespaces and --namespace exclude each other: give one of them"))
	}
	if o.top < 0 {
		return command.Exit(command.ExitUsage, fmt.Errorf("--top %d must not be negative; 0 means all", o.top))
	}
	if _, err := labels.Parse(o.selector); err != nil {
		return command.Exit(command.ExitUsage,
			fmt.Errorf("--selector %q can't be read: %w; give it as for kubectl, for example app=web,tier!=test",
				o.selector, err))
	}
	return o.asCheck().validate()
}

// asCheck are the flags that scan shares with check, and treats alike.
func (o *scanOptions) asCheck() *checkOptions {
	return &checkOptions{output: o.output, failOn: o.failOn}
}

func (o *scanOptions) run(cmd *cobra.Command) error {
	if err := o.validate(); err != nil {
		return err
	}
	ctx := cmd.Context()
	o.policies.kinds = o.policies.kindsServed
	snapshot, err := o.policies.load(ctx)
	if err != nil {
		return err
	}
	seeing, err := seeingCluster(ctx, o.policies.connection, snapshot)
	if err != nil {
		return err
	}
	walk, err := walkOf(o.policies.connection, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	walk.Namespace, walk.Selector = o.namespace, o.selector
	report, err := look(ctx, walk, seeing[0], check.Options{Fix: o.diff, Clean: o.output == format.JUnit})
	if err != nil {
		return err
	}
	report.Incomplete = append(report.Incomplete, o.policies.incomplete()...)
	walk.notes(cmd.ErrOrStderr())
	if err := o.write(cmd.OutOrStdout(), report); err != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("write the report: %w", err))
	}
	return o.verdict(report)
}

func (o *scanOptions) write(to io.Writer, report *check.Report) error {
	out := terminal.NewScreen(to)
	opts := format.Options{Style: out.Style, Version: version.String()}
	if o.output == "table" {
		return format.WriteOverview(out.Out, report, o.top, opts)
	}
	return format.Write(out.Out, o.output, report, opts)
}

// verdict is how the command ends. What couldn't be read is told on standard
// error too, for formats that have no place for it.
func (o *scanOptions) verdict(report *check.Report) error {
	var unread error
	if len(report.Incomplete) > 0 && !o.allowIncomplete {
		unread = fmt.Errorf("%s\nto accept that: --allow-incomplete", strings.Join(report.Incomplete, "\n"))
	}
	return o.asCheck().verdict(report, unread)
}

// clusterWalk is a walk whose progress is shown.
type clusterWalk struct {
	*listing.Walk
	progress *terminal.Progress
}

// walkOf prepares to read the cluster once.
func walkOf(f *connect.Flags, stderr io.Writer) (*clusterWalk, error) {
	objects, kinds, err := f.Untyped()
	if err != nil {
		return nil, err
	}
	w := &clusterWalk{Walk: &listing.Walk{Client: objects, Discovery: kinds}, progress: terminal.NewProgress(stderr)}
	w.Progress = func(p listing.Progress) {
		w.progress.Tell(p.Done, p.Kinds, p.String())
	}
	return w, nil
}

// look judges all that the walk comes upon by the policies, now.
func look(ctx context.Context, walk *clusterWalk, snapshot *catalog.Snapshot, opts check.Options) (
	*check.Report, error) {
	opts.Now, opts.Lean = time.Now(), true
	found := walk.Objects(ctx, snapshot)
	report, err := check.Run(ctx, snapshot, subjectsOf(found), opts)
	walk.progress.End()
	if err != nil {
		return nil, command.Exit(command.ExitFailure, err)
	}
	for _, gap := range walk.Gaps() {
		report.Incomplete = append(report.Incomplete, gap.Problem)
	}
	return report, nil
}

func subjectsOf(found iter.Seq2[listing.Found, error]) iter.Seq2[check.Subject, error] {
	return func(yield func(check.Subject, error) bool) {
		for f, err := range found {
			if !yield(check.Subject{Object: f.Object, Namespace: f.Namespace, Resource: f.Resource}, err) {
				return
			}
		}
	}
}

// notes tells which kinds the cluster doesn't know. The library concerns more kinds
// than most clusters serve.
func (w *clusterWalk) notes(stderr io.Writer) {
	var absent []string
	for _, gk := range w.Absent() {
		absent = append(absent, gk.String())
	}
	if len(absent) > 0 {
		slices.Sort(absent)
		fmt.Fprintf(stderr, "note: policies concern kinds that this cluster doesn't serve: %s\n",
			strings.Join(absent, ", "))
	}
}
