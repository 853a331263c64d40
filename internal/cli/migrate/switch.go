// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/switchover"
)

const reasonUsage = "why --force is given; the constraint keeps it in the annotation " + v1alpha1.AnnotationSwitchReason

// switchOptions are the flags of switch and switch-back.
type switchOptions struct {
	flags          *connect.Flags
	yes, dryRun    bool
	force          bool
	reason         string
	timeout, delay time.Duration
}

func newSwitchCommand() *cobra.Command {
	o := &switchOptions{}
	cmd := &cobra.Command{
		Use:   "switch CONSTRAINT",
		Short: "Have a constraint's policy enforce in its place",
		Long: `Switch compares what a constraint and its policy find, as compare does, and goes on only
when they find the same, and when the API server asks Evenkeel's webhook of all kinds that the
policy concerns. Then the policy gets the constraint's action (Deny or Warn); once its status
says that it is in force, and a manager answers, the constraint's enforcementAction becomes
dryrun. What the constraint did is kept in an annotation of it, for switch-back. A switch and a
switch-back at once never leave neither enforcing: the one that began later goes on.

It can be run again after any end, and goes on where it stopped. What somebody else has changed
meanwhile is told, and left as it is.

It ends with code 0 when the policy enforces, with 1 when it was refused or stopped, with 2 when
it was called wrongly, and with 3 when something couldn't be read.`,
		Example: `  evenkeel migrate gatekeeper switch K8sRequiredLabels/team --dry-run
  evenkeel migrate gatekeeper switch K8sRequiredLabels/team --yes`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.forward(cmd, args[0]) },
	}
	o.takes(cmd)
	cmd.Flags().BoolVar(&o.force, "force", false, "switch although the two differ, or weren't compared; needs --reason")
	cmd.Flags().StringVar(&o.reason, "reason", "", reasonUsage)
	return cmd
}

func newSwitchBackCommand() *cobra.Command {
	o := &switchOptions{}
	cmd := &cobra.Command{
		Use:   "switch-back CONSTRAINT",
		Short: "Have Gatekeeper enforce a constraint again",
		Long: `Switch-back gives a constraint the enforcementAction back that it had before switch. Once every
replica of Gatekeeper's webhook reports that it enforces the constraint, and the API server asks
it of all kinds that the policy concerns, the policy's admission.action becomes Audit. It can be
run again after any end, and undoes a switch that stopped half way.

It ends with code 0 when Gatekeeper enforces, with 1 when it was refused or stopped, with 2 when
it was called wrongly, and with 3 when something couldn't be read.`,
		Example: `  evenkeel migrate gatekeeper switch-back K8sRequiredLabels/team`,
		RunE:    func(cmd *cobra.Command, args []string) error { return o.back(cmd, args[0]) },
	}
	o.takes(cmd)
	cmd.Flags().BoolVar(&o.force, "force", false,
		"switch back although Gatekeeper's webhook isn't asked; needs --reason")
	cmd.Flags().StringVar(&o.reason, "reason", "", reasonUsage)
	return cmd
}

func (o *switchOptions) takes(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	cmd.Args = command.TakesArguments(1, 1, "constraint: KIND/NAME, or its name")
	o.flags = connect.TakesCluster(cmd)
	connect.Completes(cmd, o.flags, migratedConstraints)
	takesConsent(cmd, &o.yes, &o.dryRun)
	cmd.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long each step may take to be confirmed")
	cmd.Flags().DurationVar(&o.delay, "delay", 10*time.Second, "how long to wait after a step is confirmed, for "+
		"replicas that report nothing of themselves")
}

func (o *switchOptions) validate(cmd *cobra.Command) error {
	switch {
	case o.force != (o.reason != ""):
		return command.WronglyCalled(cmd, errors.New("--force and --reason go together: give both, or none"))
	case o.timeout < 0 || o.delay < 0:
		return command.WronglyCalled(cmd, errors.New("--timeout and --delay can't be negative"))
	case !o.yes && !o.dryRun && !terminal.Asks(cmd.InOrStdin(), cmd.OutOrStdout()):
		return command.WronglyCalled(cmd, errors.New("there is no terminal to ask on: give --yes, or --dry-run"))
	}
	return nil
}

func (o *switchOptions) forward(cmd *cobra.Command, name string) error {
	if err := o.validate(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	e, p, err := o.read(ctx, name)
	if err != nil {
		return err
	}
	action, err := p.constraint.Action()
	if err != nil {
		return command.Exit(command.ExitFailed, err)
	}
	out := cmd.OutOrStdout()
	e.tellExemptions(out)
	fmt.Fprintf(out, "1. policy %s gets admission.action %s, and is awaited in force\n2. constraint %s gets "+
		"enforcementAction dryrun\n", p.policy.Name, action, p.constraint.ID())
	if o.dryRun {
		return ended(o.compare(ctx, cmd, e, p))
	}
	if err := consent(cmd, o.yes, "Switch it?"); err != nil {
		return err
	}
	h := o.handover(cmd, e, p)
	h.Check = func(ctx context.Context, policy *v1alpha1.ClusterRegoPolicy, c *switchover.Constraint) error {
		now, _, err := o.read(ctx, c.ID()) // the templates, too, may have changed while somebody was asked
		if err != nil {
			return err
		}
		return o.compare(ctx, cmd, now, pair{c, policy})
	}
	return ended(h.Forward(ctx))
}

// compare refuses a switch unless Evenkeel is asked of all that the constraint is, and both find the same just now.
func (o *switchOptions) compare(ctx context.Context, cmd *cobra.Command, e *estate, p pair) error {
	if o.force {
		return nil
	}
	if err := switchover.Asked(ctx, e.objects, e.discovery, p.policy); err != nil {
		return fmt.Errorf("constraint %s isn't switched: %w; --force --reason TEXT does it all the same",
			p.constraint.ID(), err)
	}
	if err := e.source.TakenOver(e.discovery, p.policy); err != nil {
		return fmt.Errorf("constraint %s isn't switched: %w; --force --reason TEXT does it all the same",
			p.constraint.ID(), err)
	}
	found, err := compare(ctx, e, []pair{p}, &admission{}, o.flags)
	if err != nil {
		return err
	}
	if err := found.table(cmd.OutOrStdout()); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	if err := found.verdict(); err != nil {
		return fmt.Errorf("constraint %s isn't switched: %w; --force --reason TEXT does it all the same",
			p.constraint.ID(), err)
	}
	return nil
}

func (o *switchOptions) back(cmd *cobra.Command, name string) error {
	if err := o.validate(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	e, p, err := o.read(ctx, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "1. constraint %s gets its enforcementAction back, and is awaited in force\n"+
		"2. policy %s gets admission.action Audit\n", p.constraint.ID(), p.policy.Name)
	covered := func(ctx context.Context, policy *v1alpha1.ClusterRegoPolicy, c *switchover.Constraint) error {
		if o.force {
			return nil
		}
		if err := switchover.AskedOfGatekeeper(ctx, e.objects, e.discovery, policy); err != nil {
			return fmt.Errorf("constraint %s isn't switched back: %w; --force --reason TEXT does it all the same",
				c.ID(), err)
		}
		return nil
	}
	if o.dryRun {
		return ended(covered(ctx, p.policy, p.constraint))
	}
	if err := consent(cmd, o.yes, "Switch back?"); err != nil {
		return err
	}
	h := o.handover(cmd, e, p)
	h.Check = covered
	return ended(h.Back(ctx))
}

func (o *switchOptions) read(ctx context.Context, name string) (*estate, pair, error) {
	e, err := readEstate(ctx, o.flags)
	if err != nil {
		return nil, pair{}, err
	}
	pairs, err := e.pairs(name)
	if err != nil {
		return nil, pair{}, err
	}
	return e, pairs[0], nil
}

func (o *switchOptions) handover(cmd *cobra.Command, e *estate, p pair) *switchover.Handover {
	return &switchover.Handover{
		Cluster: &switchover.Live{Objects: e.objects, Client: e.client, Of: p.constraint, PolicyName: p.policy.Name,
			Cause: o.reason},
		Run:     string(uuid.NewUUID()),
		Answers: func(ctx context.Context) error { return switchover.Answers(ctx, e.client) },
		Wait:    wait, Timeout: o.timeout, Delay: o.delay,
		Told: func(step string) { fmt.Fprintln(cmd.OutOrStdout(), step) },
	}
}
