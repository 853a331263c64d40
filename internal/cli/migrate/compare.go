// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/internal/prose"
)

// compareOptions are the flags of migrate gatekeeper compare.
type compareOptions struct {
	flags  *connect.Flags
	output *output.Flag
	admission
	lasts, every time.Duration
}

func newCompareCommand() *cobra.Command {
	o := &compareOptions{}
	cmd := &cobra.Command{
		Use:   "compare [CONSTRAINT]",
		Short: "Compare what Gatekeeper and the migrated policies find in the cluster",
		Long: `Compare judges what lives in the cluster by the policies that were made of its
constraints, as they are in the cluster, and holds what they find against the result of
Gatekeeper's audit in each constraint's status: object by object and message by message, and by
their number where Gatekeeper's list is cut. A result that is older than the last change of the
constraint, its template or the object isn't compared: it is unknown until the next audit.

With --admission it also sends objects to the API server as they are, as updates with dryRun=All,
and holds what Gatekeeper's webhook answers against what the policies say of the same requests.
Nothing is stored, but every admission webhook of the cluster is asked, and you need the
permission to update the objects.

With --for it compares again and again while the cluster is in use, until the two differ or the
time is over, and prints the last comparison.

It ends with code 0 when both find the same, with 1 when they differ, when a constraint has no policy
or has changed since apply made it, with 2 when it was called
wrongly, and with 3 when that can't be determined.`,
		Example: `  evenkeel migrate gatekeeper compare
  evenkeel migrate gatekeeper compare K8sRequiredLabels/team --admission -o json
  evenkeel migrate gatekeeper compare --admission --for 2h --every 10m`,
		Args: command.TakesArguments(0, 1, "constraint: KIND/NAME, or its name"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	o.flags = connect.TakesCluster(cmd)
	connect.Completes(cmd, o.flags, migratedConstraints)
	o.output = output.Takes(cmd, output.JSON, output.YAML)
	o.addFlags(cmd)
	cmd.Flags().DurationVar(&o.lasts, "for", 0, "compare again and again for that long, for example 2h, and end as "+
		"soon as the two differ")
	cmd.Flags().DurationVar(&o.every, "every", time.Minute, "how long to wait between two comparisons of --for")
	return cmd
}

func (o *compareOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.output.Check(cmd); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	if o.lasts < 0 || o.every <= 0 {
		return command.WronglyCalled(cmd, errors.New("--for can't be negative, and --every must be longer than 0s"))
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	found, err := o.last(cmd.Context(), name, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := found.write(cmd.OutOrStdout(), o.output); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	return found.verdict()
}

func (o *compareOptions) last(ctx context.Context, name string, stderr io.Writer) (*report, error) {
	end := time.Now().Add(o.lasts)
	for {
		e, err := readEstate(ctx, o.flags)
		if err != nil {
			return nil, err
		}
		e.stderr = stderr
		found, err := o.once(ctx, e, name)
		if err != nil || found.differ() > 0 || time.Now().Add(o.every).After(end) {
			return found, err
		}
		if err := wait(ctx, o.every); err != nil {
			return nil, command.Exit(command.ExitFailure, err)
		}
	}
}

func (o *compareOptions) once(ctx context.Context, e *estate, name string) (*report, error) {
	pairs, err := e.pairs(name)
	if err != nil {
		return nil, err
	}
	found := &report{}
	if len(pairs) > 0 {
		if found, err = compare(ctx, e, pairs, &o.admission, o.flags); err != nil {
			return nil, err
		}
	}
	if name == "" {
		found.Constraints = append(found.Constraints, e.unpaired()...)
	}
	return found, nil
}

func compare(ctx context.Context, e *estate, pairs []pair, a *admission, flags *connect.Flags) (*report, error) {
	v, err := newEvaluation(ctx, e, pairs)
	if err != nil {
		return nil, err
	}
	asked, err := a.begin(ctx, v, pairs, flags)
	if err != nil {
		return nil, err
	}
	if err := v.run(ctx, asked.each(ctx)); err != nil {
		return nil, err
	}
	webhook, err := live.ReadWebhook(ctx, e.objects, e.discovery)
	if err != nil {
		return nil, connect.Failure("compare", err)
	}
	r := &report{}
	for _, p := range pairs {
		row := row{Constraint: p.constraint.ID(), Policy: p.policy.Name,
			Comparison: live.Compare(v.audits[p.policy.Name], v.own[p.policy.Name])}
		if err := live.Stands(p.policy, p.constraint); err != nil {
			row.unknown(err.Error())
		}
		if err := e.source.Stale(p.policy, p.constraint); err != nil {
			row.differs(err.Error())
		}
		if note := live.NeverJudged(p.policy, webhook.Exempt()); note != "" {
			row.Notes = append(row.Notes, note)
		}
		if note := live.NothingStored(p.policy); note != "" {
			row.Notes = append(row.Notes, note)
		}
		row.Admission = asked.of(p)
		r.Constraints = append(r.Constraints, row)
	}
	return r, nil
}

// differ counts the constraints by which the two differ.
func (r *report) differ() int { return r.count(live.Different) }

func (r *report) count(verdict live.Verdict) int {
	n := 0
	for i := range r.Constraints {
		if r.Constraints[i].worst() == verdict {
			n++
		}
	}
	return n
}

func (r *report) verdict() error {
	switch {
	case r.differ() > 0:
		return command.Exit(command.ExitFailed, fmt.Errorf("of %s the two differ by %d",
			prose.Count(len(r.Constraints), "constraint"), r.differ()))
	case r.count(live.Unknown) > 0:
		return command.Exit(command.ExitFailure, errors.New("whether the two find the same isn't known of all "+
			"constraints: see the notes"))
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
