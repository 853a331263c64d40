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

// WriteOverview writes for people what was found in a whole cluster: how much of
// each severity, in which namespaces, of which owners and policies, then the worst
// objects with all that was found in them, at most top of them; 0 means all.
func WriteOverview(w io.Writer, report *check.Report, top int, opts Options) error {
	out := bufio.NewWriter(w)
	b := report.Breakdown()
	for _, table := range []struct {
		title  string
		absent string
		shares []check.Share
	}{
		{"SEVERITY", "(none)", b.Severities}, {"NAMESPACE", "(cluster)", b.Namespaces},
		{"OWNER", "(no owner)", b.Owners}, {"POLICY", "", b.Policies},
	} {
		if err := writeShares(out, table.title, table.absent, table.shares, opts.Style); err != nil {
			return err
		}
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
