// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
	"evenkeel.dev/evenkeel/internal/policy/override"
)

// overrideOptions are the flags of the command.
type overrideOptions struct {
	enforcement, reason string
	lasts               request.End
	clear               bool
}

func enforcements() []string {
	return []string{string(v1alpha1.AdmissionDeny), string(v1alpha1.AdmissionWarn), string(v1alpha1.AdmissionAudit)}
}

func newOverrideCommand(flags *connect.Flags) *cobra.Command {
	o := &overrideOptions{lasts: request.End{Of: "an override", Most: v1alpha1.MaxOverride,
		Lasting: "change the policy itself for what is to last"}}
	cmd := &cobra.Command{
		Use:   "override NAME --enforcement Deny|Warn|Audit --for DURATION --reason REASON | NAME --clear",
		Short: "Soften what admission does with a policy's violations, until a set time",
		Long: `Override has admission warn of a policy's violations, or only record them, where the
policy declares that they are refused; for a set time, 168h (7 days) at most. It works no matter who manages the
policy: one that a PolicySource keeps from Git is overridden through every sync. The policy itself
isn't changed, nor its revision, and nobody becomes its author; rollouts aren't superseded. While it
is overridden no new write of its plans begins; what is written is verified and undone as ever.

The override ends by itself. An override never makes a policy stricter: where the policy declares less by
then, that counts. --clear ends it before its time, by deleting the PolicyOverride. It needs the verb override on the
policy (role evenkeel-operator); your user name is recorded with the reason.`,
		Example: `  evenkeel policy override privileged-containers --enforcement Warn --for 2h --reason "INC-42"
  evenkeel policy override privileged-containers --clear
  evenkeel policy history privileged-containers
  kubectl get policyoverrides`,
		Args: command.TakesArguments(1, 1, "policy; see kubectl get rego"),
	}
	f := cmd.Flags()
	f.StringVar(&o.enforcement, "enforcement", "", "what admission does meanwhile: "+strings.Join(enforcements(), ", "))
	o.lasts.TakesFor(cmd)
	f.StringVar(&o.reason, "reason", "", "why, for the record")
	f.BoolVar(&o.clear, "clear", false, "end the override now")
	command.CompletesWith(cmd, "enforcement", enforcements()...)
	connect.Completes(cmd, flags, connect.PolicyNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		until, err := o.validate()
		if err != nil {
			return command.WronglyCalled(cmd, err)
		}
		c, err := flags.Client()
		if err != nil {
			return err
		}
		if o.clear {
			return o.end(cmd.Context(), c, args[0], cmd.OutOrStdout())
		}
		return o.begin(cmd.Context(), c, args[0], until.Time, cmd.OutOrStdout())
	}
	return cmd
}

// validate is when the override is to end, nil for now; it errs with what is wrong with the flags.
func (o *overrideOptions) validate() (*metav1.Time, error) {
	switch {
	case o.clear && (o.enforcement != "" || o.lasts.Given() || o.reason != ""):
		return nil, errors.New("--clear ends the override: leave --enforcement, --for and --reason out")
	case o.clear:
		return nil, nil //nolint:nilnil // it ends now
	case !slices.Contains(enforcements(), o.enforcement):
		return nil, fmt.Errorf("--enforcement %q: give one of %s", o.enforcement, strings.Join(enforcements(), ", "))
	case !o.lasts.Given():
		return nil, errors.New("--for is missing: say how long the override is to last, for example 2h")
	case strings.TrimSpace(o.reason) == "":
		return nil, errors.New("--reason is missing: say why the policy is overridden")
	}
	return o.lasts.Time(time.Now())
}

func (o *overrideOptions) begin(ctx context.Context, c client.Client, name string, until time.Time,
	out io.Writer) error {
	p := &v1alpha1.ClusterRegoPolicy{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, p)
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w; those that are there: kubectl get rego", err)
	}
	if err != nil {
		return connect.Failure("read policy "+name, err)
	}
	p.SetDefaults()
	wanted := v1alpha1.AdmissionAction(o.enforcement)
	if declared := p.Spec.Admission.Action; override.Softer(declared, wanted) != wanted {
		return command.Exit(command.ExitUsage, fmt.Errorf("policy %s declares admission action %s: an override never "+
			"makes a policy stricter; nothing was changed", name, declared))
	}
	asked := newOverride(p, wanted, until, o.reason)
	stored, err := write(ctx, c, asked)
	if err != nil {
		return connect.Failure("override policy "+name, err)
	}
	if why := lost(asked, stored); why != "" {
		return command.Exit(command.ExitFailure, fmt.Errorf("policy %s isn't overridden: %s: upgrade "+
			"CustomResourceDefinitions and manager to the version of this program; evenkeel doctor shows theirs", name,
			why))
	}
	if err := confirmed(ctx, c, stored); err != nil {
		return err
	}
	in := override.InForce(stored, override.Policy{UID: p.UID, Declared: p.Spec.Admission.Action}, time.Now())
	if in == nil {
		return command.Exit(command.ExitFailed, fmt.Errorf("policy %s isn't overridden: it ended meanwhile", name))
	}
	_, err = fmt.Fprintf(out, "policy %s: %s\nno new write of its plans begins until then; to end it before: evenkeel "+
		"policy override %s --clear\n", name, in, name)
	return err
}

func (o *overrideOptions) end(ctx context.Context, c client.Client, name string, out io.Writer) error {
	stored := &v1alpha1.PolicyOverride{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, stored)
	if err != nil && !apierrors.IsNotFound(err) {
		return connect.Failure("read the override of policy "+name, err)
	}
	if apierrors.IsNotFound(err) {
		_, err = fmt.Fprintf(out, "policy %s isn't overridden\n", name)
		return err
	}
	err = c.Delete(ctx, stored, client.Preconditions{UID: &stored.UID})
	if client.IgnoreNotFound(err) != nil {
		return connect.Failure("end the override of policy "+name, err)
	}
	if err := ended(ctx, c, name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "policy %s is no longer overridden: it is enforced as it declares\n", name)
	return err
}
