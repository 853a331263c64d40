// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/display"
)

// maxShares is how many lines a table of the overview has.
const maxShares = 10

// manyFindings is from how many findings on a table begins with where they are.
const manyFindings = 50

// Groups are what a summary can be grouped by.
func Groups() []string { return []string{"severity", "policy", "namespace", "owner"} }

// writeSummary writes how much was found of each group.
func writeSummary(out io.Writer, report *check.Report, groups []string, style display.Style) error {
	b := report.Breakdown()
	for _, group := range groups {
		var err error
		switch group {
		case "severity":
			err = writeShares(out, "SEVERITY", "(none)", b.Severities, style)
		case "policy":
			err = writeShares(out, "POLICY", "", b.Policies, style)
		case "namespace":
			err = writeShares(out, "NAMESPACE", "(cluster)", b.Namespaces, style)
		case "owner":
			err = writeShares(out, "OWNER", "(no owner)", b.Owners, style)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// summaryOf are the groups that a table begins with: those that are asked for, or
// policy and namespace where there is more than a person reads.
func summaryOf(report *check.Report, opts Options) []string {
	s := report.Summary()
	switch {
	case len(opts.GroupBy) > 0:
		return opts.GroupBy
	case opts.Summary || s.Violations+s.Warnings+s.Errors > manyFindings:
		return []string{"policy", "namespace"}
	}
	return nil
}

// WriteOverview writes for people what was found in a whole cluster: how much of
// each severity, in which namespaces, of which owners and policies, then the worst
// objects with all that was found in them, at most top of them; 0 means all.
func WriteOverview(w io.Writer, report *check.Report, top int, opts Options) error {
	out := bufio.NewWriter(w)
	if err := writeSummary(out, report, []string{"severity", "namespace", "owner", "policy"}, opts.Style); err != nil {
		return err
	}
	objects := report.WorstFirst()
	shown := objects
	if top > 0 && top < len(objects) {
		shown = objects[:top]
	}
	for _, results := range shown {
		writeObject(out, results, opts.Style)
	}
	if hidden := len(objects) - len(shown); hidden > 0 {
		fmt.Fprintf(out, "…and %s; --top 0 shows all\n\n", count(hidden, "more object"))
	}
	for _, problem := range report.Incomplete {
		fmt.Fprintln(out, opts.Style.Bad("Incomplete: "+problem))
	}
	fmt.Fprintln(out, sumUp(report))
	return out.Flush()
}

func writeShares(out io.Writer, title, absent string, shares []check.Share, style display.Style) error {
	if len(shares) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "%s\tWORST\tVIOLATIONS\tOBJECTS\tPOLICIES\n", title)
	for _, s := range shares[:min(len(shares), maxShares)] {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\n", cmp.Or(s.Name, absent), s.Worst, s.Violations, s.Objects, s.Policies)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(shares) - maxShares; more > 0 {
		fmt.Fprintln(out, style.Faint(fmt.Sprintf("…and %d more", more)))
	}
	fmt.Fprintln(out)
	return nil
}
