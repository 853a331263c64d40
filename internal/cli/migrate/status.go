// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/internal/prose"
)

// standing says who enforces one constraint.
type standing struct {
	Constraint        string     `json:"constraint"`
	EnforcementAction string     `json:"enforcementAction"`
	Policy            string     `json:"policy,omitempty"`
	AdmissionAction   string     `json:"admissionAction,omitempty"`
	State             live.State `json:"state"`
	// Problems say what is to be done, in a sentence each.
	Problems []string `json:"problems,omitempty"`
	// Notes say what to know.
	Notes []string `json:"notes,omitempty"`
}

func newStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say of each constraint whether Gatekeeper or Evenkeel enforces it",
		Long: `Status says of each constraint in the cluster what Gatekeeper does by it, which policy was
made of it and what that does, and so who enforces it. It reports constraints that have changed
since their policy was made, or that several policies claim, and policies that should enforce and
aren't in force as they are written, or of whose kinds or operations the API server doesn't ask
Evenkeel: look at it before you set a constraint to dryrun.

It ends with code 0 when nothing is wrong, with 1 when something is, with 2 when it was called
wrongly, and with 3 when something couldn't be read.`,
		Example: `  evenkeel migrate gatekeeper status
  evenkeel migrate gatekeeper status -o json`,
		Args: command.TakesArguments(0, 0, ""),
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	flags, how := connect.TakesCluster(cmd), output.Takes(cmd, output.JSON, output.YAML)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := how.Check(cmd); err != nil {
			return err
		}
		e, err := readEstate(cmd.Context(), flags)
		if err != nil {
			return err
		}
		webhook, err := live.ReadWebhook(cmd.Context(), e.objects, e.discovery)
		if err != nil {
			return connect.Failure("say who enforces", err)
		}
		all := e.standings(webhook)
		if err := how.Data(cmd.OutOrStdout(), map[string]any{"constraints": all}, func(out io.Writer) error {
			return drawStandings(out, all)
		}); err != nil {
			return command.Exit(command.ExitFailure, err)
		}
		return wrong(all)
	}
	return cmd
}

func (e *estate) standings(webhook *live.Webhook) []standing {
	all := make([]standing, 0, len(e.source.Constraints))
	for _, c := range e.source.Constraints {
		p, err := e.policyOf(c)
		s := standing{Constraint: c.ID(), EnforcementAction: cmp.Or(c.Enforcement(), "deny"),
			State: live.StateOf(c, p)}
		if err != nil {
			s.State, s.Problems = "not known", []string{err.Error()}
		}
		if p != nil {
			s.Policy, s.AdmissionAction = p.Name, string(p.Spec.Admission.Action)
			if note := live.NeverJudged(p, webhook.Exempt()); note != "" {
				s.Notes = []string{note}
			}
		}
		s.Problems = append(s.Problems, e.problems(c, p, s.State)...)
		if s.State == live.Evenkeel || s.State == live.Both {
			s.inForce(e.source, p, webhook)
		}
		if was, unread := c.Action(); unread == nil && s.State == live.Both && was != p.Spec.Admission.Action {
			s.Notes = append(s.Notes, fmt.Sprintf("the constraint's action is %s, and the policy's is %s", was,
				p.Spec.Admission.Action))
		}
		all = append(all, s)
	}
	return all
}

// problems say what is wrong with a constraint and its policy, nil for none, and which command helps.
func (e *estate) problems(c *live.Constraint, p *v1alpha1.ClusterRegoPolicy, state live.State) []string {
	var out []string
	theirs := state == live.Gatekeeper || state == live.NotMigrated && c.Enforcement() != "dryrun"
	if e.source.Unasked && theirs {
		out = append(out, "nobody enforces it: no ValidatingWebhookConfiguration has the webhook "+
			"validation.gatekeeper.sh, so that Gatekeeper refuses nothing: restore it, as by installing Gatekeeper "+
			"again")
	}
	if p == nil {
		return out
	}
	if lost := gatekeeper.LostAt(c.Object.Object); lost != "" {
		out = append(out, "its "+lost)
	}
	for _, err := range []error{live.Stands(p, c), e.source.Stale(p, c)} {
		if err != nil {
			out = append(out, err.Error())
		}
	}
	return out
}

// inForce adds what keeps a policy from enforcing in its constraint's place, whatever is written in it.
func (s *standing) inForce(source *live.Source, p *v1alpha1.ClusterRegoPolicy, webhook *live.Webhook) {
	for _, err := range []error{live.InForce(p), webhook.Asked(p), source.TakenOver(webhook, p)} {
		if err != nil {
			s.Problems = append(s.Problems, err.Error())
		}
	}
}

func wrong(all []standing) error {
	n := 0
	for i := range all {
		if len(all[i].Problems) > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return command.Exit(command.ExitFailed, fmt.Errorf("of %s %d need something done: see above",
		prose.Count(len(all), "constraint"), n))
}

func drawStandings(out io.Writer, all []standing) error {
	table := output.Columns(out, "CONSTRAINT", "ENFORCEMENT-ACTION", "POLICY", "ADMISSION-ACTION", "STATE")
	for _, s := range all {
		output.Row(table, s.Constraint, s.EnforcementAction, cmp.Or(s.Policy, "-"), cmp.Or(s.AdmissionAction, "-"),
			string(s.State))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range all {
		for _, problem := range s.Problems {
			fmt.Fprintf(out, "\n%s: %s\n", s.Constraint, prose.OneLine(problem))
		}
		for _, note := range s.Notes {
			fmt.Fprintf(out, "\n%s: note: %s\n", s.Constraint, prose.OneLine(note))
		}
	}
	return nil
}
