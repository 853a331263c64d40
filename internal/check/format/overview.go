// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxShares is how many lines a table of the overview has.
const maxShares = 10

// manyFindings is from how many findings on a table begins with where they are.
const manyFindings = 50

// fewFindings is up to how many findings an overview has no tables.
const fewFindings = 10

// Groups are what a summary can be grouped by.
func Groups() []string { return []string{"severity", "policy", "namespace", "owner"} }

// writeSummary writes how much was found of each group.
func writeSummary(out io.Writer, report *check.Report, groups []string, style display.Style) error {
	b := report.Breakdown()
	for _, group := range groups {
		// Columns that would say the same in each line, or what the name says, are left out.
		t := shares{worst: true, policies: len(b.Policies) > 1}
		switch group {
		case "severity":
			t.title, t.absent, t.list, t.worst = "SEVERITY", "(none)", b.Severities, false
		case "policy":
			t.title, t.list, t.policies = "POLICY", b.Policies, false
		case "namespace":
			t.title, t.absent, t.list = "NAMESPACE", "(cluster)", b.Namespaces
		case "owner":
			t.title, t.absent, t.list = "OWNER", "(no owner)", b.Owners
		}
		if err := t.write(out, style); err != nil {
			return err
		}
	}
	return nil
}

// summaryOf are the groups that a table begins with: those that are asked for, or
// policy and namespace where there is more than a person reads.
func summaryOf(report *check.Report, opts Options) []string {
	switch {
	case len(opts.GroupBy) > 0:
		return opts.GroupBy
	case opts.Summary || findings(report) > manyFindings:
		return []string{"policy", "namespace"}
	}
	return nil
}

// findings counts what a person would read, one by one.
func findings(report *check.Report) int {
	s := report.Summary()
	return s.Violations + s.Warnings + s.Errors
}

// WriteOverview writes for people what was found in a whole cluster: how much of
// each severity, in which namespaces, of which owners and policies, then the worst
// objects with all that was found in them, at most top of them; 0 means all. Of few findings
// that are all shown the last line is summary enough.
func WriteOverview(w io.Writer, report *check.Report, top int, opts Options) error {
	out := bufio.NewWriter(w)
	objects := report.WorstFirst()
	shown := objects
	if top > 0 && top < len(objects) {
		shown = objects[:top]
	}
	if findings(report) > fewFindings || len(shown) < len(objects) {
		groups := []string{"severity", "namespace", "owner", "policy"}
		if err := writeSummary(out, report, groups, opts.Style); err != nil {
			return err
		}
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

// leading is a name that a line begins with: quoted where GitHub's runner would take it for a command.
func leading(name string) string {
	return prose.Shown(prose.OneLine(name))
}

// shares is a table of who has how much of what was found.
type shares struct {
	title, absent   string
	list            []check.Share
	worst, policies bool
}

func (t *shares) write(out io.Writer, style display.Style) error {
	if len(t.list) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row := func(name, worst, violations, objects, policies string) {
		cells := []string{name}
		if t.worst {
			cells = append(cells, worst)
		}
		if cells = append(cells, violations, objects); t.policies {
			cells = append(cells, policies)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	row(t.title, "WORST", "VIOLATIONS", "OBJECTS", "POLICIES")
	for _, s := range t.list[:min(len(t.list), maxShares)] {
		row(cmp.Or(leading(s.Name), t.absent), string(s.Worst), strconv.Itoa(s.Violations),
			strconv.Itoa(s.Objects), strconv.Itoa(s.Policies))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(t.list) - maxShares; more > 0 {
		fmt.Fprintln(out, style.Faint(fmt.Sprintf("…and %d more", more)))
	}
	fmt.Fprintln(out)
	return nil
}
