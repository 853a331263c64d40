// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/display"
)

// lookEvery is how often a watched rollout is read anew.
const lookEvery = time.Second

func newGetCommand(flags *connect.Flags) *cobra.Command {
	var watch bool
	var changes, targets int
	cmd := &cobra.Command{
		Use:   "get [NAME]",
		Short: "Show a rollout: waves, targets, gates, breakers, what comes next and why it waits",
		Long: `Get shows one rollout whole, or lists all without a NAME. Of one that awaits approval it
shows what is to be approved, targets with equal changes together. With --watch it follows
the rollout until it ends: on a terminal the picture is redrawn in place,
elsewhere one line is printed for each change. Given a policy, it waits for the plan
that is to come: its first, or the next when the policy has changed since the latest
one ended, or is to be retried. A watched rollout ends the program with code 0 when nothing is left for
a person to do, and with code 1 otherwise. What you may not read of its targets and circuit breakers is named, with
the role that grants it, and the rest is shown all the same.`,
		Example: `  evenkeel rollout get
  evenkeel rollout get privileged-containers --watch
  evenkeel rollout get privileged-containers -o yaml`,
		Args: command.TakesArguments(0, 1, "Remediation or policy"),
	}
	o := output.Takes(cmd, output.JSON, output.YAML, output.Name)
	takesShown(cmd, &changes, &targets)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "follow the rollout until it ends")
	connect.Completes(cmd, flags, planNames, connect.PolicyNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Check(cmd); err != nil {
			return err
		}
		if watch && (len(args) == 0 || o.Format != output.Table) {
			return command.WronglyCalled(
				cmd, errors.New("--watch follows one rollout and draws it: give its NAME, and no -o"))
		}
		c, err := flags.Client()
		if err != nil {
			return err
		}
		v := viewer{client: c, screen: terminal.NewScreen(cmd.OutOrStdout()), errors: cmd.ErrOrStderr(),
			shown: shown(changes, targets)}
		switch {
		case len(args) == 0:
			return v.list(cmd.Context(), o)
		case watch:
			rem, err := v.await(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return v.follow(cmd.Context(), rem.Name)
		default:
			return v.one(cmd.Context(), args[0], o)
		}
	}
	return cmd
}

func (v *viewer) list(ctx context.Context, o *output.Flag) error {
	plans, err := listPlans(ctx, v.client)
	if err != nil {
		return err
	}
	return o.Objects(v.screen.Out, &v1alpha1.RemediationList{Items: plans}, func(out io.Writer) error {
		return printPlans(plans, out)
	})
}

func (v *viewer) one(ctx context.Context, name string, o *output.Flag) error {
	rem, err := findPlan(ctx, v.client, name)
	if err != nil {
		return err
	}
	return o.Objects(v.screen.Out, rem, func(io.Writer) error {
		r, err := v.read(ctx, rem.Name)
		if err != nil {
			return err
		}
		return v.screen.Print(r.Draw(v.screen.Style))
	})
}

func printPlans(plans []v1alpha1.Remediation, out io.Writer) error {
	if len(plans) == 0 {
		_, err := fmt.Fprintln(out, "No rollouts: no violation has been planned yet.")
		return err
	}
	table := output.Columns(out, "NAME", "POLICY", "PHASE", "REASON", "WAVE", "TARGETS", "DONE", "FAILED", "AGE")
	for _, rem := range plans {
		s := rem.Status
		output.Row(table, rem.Name, rem.Spec.Plan.Policy.Name, string(rem.Phase()), s.Reason,
			canary.WaveLabel(rem.Spec.Plan, s.Wave), fmt.Sprint(rem.Spec.Plan.Targets), fmt.Sprint(s.Counts.Done),
			fmt.Sprint(s.Counts.Failed), duration.HumanDuration(time.Since(rem.CreationTimestamp.Time)))
	}
	return table.Flush()
}

type viewer struct {
	client client.Reader
	screen *terminal.Screen
	// errors is where progress is told.
	errors io.Writer
	last   string
	// toldUnread is how much of what couldn't be read has been told.
	toldUnread int
	shown      display.Shown
}

func (v *viewer) follow(ctx context.Context, name string) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		r, err := v.read(ctx, name)
		if err != nil {
			return err
		}
		if err := v.show(r); err != nil {
			return err
		}
		if r.Remediation.Rests() {
			return outcome(r.Remediation)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func outcome(rem *v1alpha1.Remediation) error {
	if rem.Status.Succeeded() {
		return nil
	}
	ended := fmt.Sprintf("remediation %s ended as %s", rem.Name, rem.Status.Phase)
	if runbook := rem.Spec.Plan.Policy.RunbookURL; runbook != "" {
		ended += "; runbook: " + runbook
	}
	return command.Exit(command.ExitFailed, errors.New(ended))
}

// show draws the picture on a terminal, and a line for a change elsewhere.
func (v *viewer) show(r display.Rollout) error {
	switch {
	case v.screen.Terminal && r.Remediation.Rests():
		return v.screen.Print(r.Draw(v.screen.Style))
	case v.screen.Terminal:
		return v.screen.Draw(r.Draw(v.screen.Style))
	}
	for _, unread := range r.Unread[min(len(r.Unread), v.toldUnread):] {
		fmt.Fprintf(v.errors, "not read: %s\n", unread)
		v.toldUnread++
	}
	line := r.Line()
	if line == v.last {
		return nil
	}
	v.last = line
	_, err := fmt.Fprintf(v.screen.Out, "%s  %s\n", r.Now.UTC().Format(time.TimeOnly), line)
	return err
}
