// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/prose"
)

// metadata are the flags that give what a policy has and Gatekeeper doesn't know.
type metadata struct{ owner, runbook, severity string }

func (m *metadata) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.owner, "owner", "platform", "team that answers for the policies")
	cmd.Flags().StringVar(&m.runbook, "runbook", "",
		"web address of their runbooks, for example https://example.com/runbooks/NAME; NAME stands for the policy's "+
			"name")
	cmd.Flags().StringVar(&m.severity, "severity", "Medium",
		"how much a violation matters: Critical, High, Medium or Low")
}

// options adds what the flags give to what else is known.
func (m *metadata) options(known gatekeeper.Options) gatekeeper.Options {
	known.Owner, known.Runbook, known.Severity = m.owner, m.runbook, v1alpha1.Severity(m.severity)
	return known
}

func (m *metadata) validate() error {
	rank, err := command.SeverityRank(m.severity)
	if err != nil {
		return err
	}
	// The API spells it so, however it was typed.
	m.severity = string([]v1alpha1.Severity{v1alpha1.SeverityCritical, v1alpha1.SeverityHigh, v1alpha1.SeverityMedium,
		v1alpha1.SeverityLow, v1alpha1.SeverityMedium}[rank])
	if strings.TrimSpace(m.owner) == "" {
		return command.Exit(command.ExitUsage, errors.New("--owner must name the team that answers for the policies"))
	}
	if m.runbook != "" && !strings.HasPrefix(m.runbook, "https://") && !strings.HasPrefix(m.runbook, "http://") {
		return command.Exit(command.ExitUsage,
			fmt.Errorf("--runbook %q must be a web address, for example https://example.com/runbooks/NAME", m.runbook))
	}
	return nil
}

func (m *metadata) tellOf(cmd *cobra.Command, out io.Writer, items []gatekeeper.Item) error {
	counts := map[gatekeeper.State]int{}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "OBJECT\tSTATE\tBECOMES\tNOTES")
	for _, item := range items {
		counts[item.State]++
		object, name := prose.Shown(prose.OneLine(item.Object)), prose.OneLine(becomes(&item))
		for i, note := range append([]string{}, item.Notes...) {
			if i == 0 {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", object, item.State, name, prose.OneLine(note))
				continue
			}
			fmt.Fprintf(table, "\t\t\t%s\n", prose.OneLine(note))
		}
		if len(item.Notes) == 0 {
			fmt.Fprintf(table, "%s\t%s\t%s\t\n", object, item.State, name)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d migrated, %d need work, %d skipped\n", counts[gatekeeper.Migrated],
		counts[gatekeeper.NeedsWork], counts[gatekeeper.Skipped])
	if !cmd.Flags().Changed("owner") || !cmd.Flags().Changed("runbook") || !cmd.Flags().Changed("severity") {
		_, err = fmt.Fprintf(out, "Gatekeeper knows no owner, runbook and severity: the policies have %s, %s and %s. "+
			"Give --owner, --runbook and --severity, or change them.\n", m.owner, cmp.Or(m.runbook, "no runbook"),
			m.severity)
	}
	return err
}
