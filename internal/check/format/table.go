// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/prose"
)

// row is a line of the table.
type row struct {
	place, level, policy, text, fix string
}

// writeTable writes what was found object by object, and a line that sums up. Where that
// is more than a person reads, it begins with where it was found.
func writeTable(w io.Writer, report *check.Report, opts Options) error {
	out := bufio.NewWriter(w)
	if err := writeSummary(out, report, summaryOf(report, opts), opts.Style); err != nil {
		return err
	}
	for start := 0; start < len(report.Results) && !opts.Summary; {
		end := start + 1
		for end < len(report.Results) && sameObject(&report.Results[start], &report.Results[end]) {
			end++
		}
		writeObject(out, report.Results[start:end], opts.Style)
		start = end
	}
	fmt.Fprintln(out, sumUp(report))
	return out.Flush()
}

func sameObject(a, b *check.Result) bool {
	return a.File == b.File && a.Line == b.Line && a.Title() == b.Title()
}

func writeObject(out io.Writer, results []check.Result, style display.Style) {
	fmt.Fprintln(out, style.Bold(results[0].Title()))
	var rows []row
	for i := range results {
		rows = append(rows, rowsOf(&results[i])...)
	}
	var place, level, name int
	for _, r := range rows {
		place, level, name = max(place, len(r.place)), max(level, len(r.level)), max(name, len(r.policy))
	}
	indent := strings.Repeat(" ", 2+gap(place)+gap(level)+gap(name))
	for _, r := range rows {
		line := "  "
		if place > 0 {
			line += fmt.Sprintf("%-*s  ", place, r.place)
		}
		fmt.Fprintf(out, "%s%s%s  %-*s  %s\n", line, paint(style, r.level), strings.Repeat(" ", level-len(r.level)),
			name, r.policy, r.text)
		if r.fix != "" {
			fmt.Fprintln(out, style.Faint(indent+r.fix))
		}
	}
	for i := range results {
		if diff := results[i].Fix; diff != "" {
			writeDiff(out, diff, style)
		}
		if reason := results[i].NoFix; reason != "" {
			fmt.Fprintln(out, style.Faint("    no fix is shown of "+results[i].Policy.Name+": "+reason))
		}
	}
	fmt.Fprintln(out)
}

// gap is the room that a column takes.
func gap(width int) int {
	if width == 0 {
		return 0
	}
	return width + 2
}

func rowsOf(r *check.Result) []row {
	var rows []row
	for _, s := range sayings(r) {
		fix := s.fix
		switch {
		case fix != "" && r.NoFix != "":
			fix = "proposed: " + fix // and no fix, as is said below
		case fix != "":
			fix = "fix: " + fix
		}
		rows = append(rows, row{place: place(r, s.line), level: s.label, policy: r.Policy.Name, text: s.text, fix: fix})
	}
	return rows
}

// place is file:line, as editors and terminals open it.
func place(r *check.Result, line int) string {
	if r.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", prose.Shown(r.File), line)
}

func paint(style display.Style, level string) string {
	switch level {
	case string(v1alpha1.SeverityCritical), string(v1alpha1.SeverityHigh), labelError:
		return style.Bad(level)
	case string(v1alpha1.SeverityMedium), labelWarning:
		return style.Busy(level)
	}
	return level
}

func writeDiff(out io.Writer, diff string, style display.Style) {
	for line := range strings.Lines(diff) {
		line = prose.Lines(strings.TrimRight(line, "\n"))
		switch {
		case strings.HasPrefix(line, "+"):
			line = style.Good(line)
		case strings.HasPrefix(line, "-"):
			line = style.Bad(line)
		}
		fmt.Fprintln(out, "    "+line)
	}
}

// sumUp counts what was found: "12 objects, 3 violations (1 Critical, 2 Medium), 1
// waived, 0 errors".
func sumUp(report *check.Report) string {
	s := report.Summary()
	var severities []string
	for _, severity := range []v1alpha1.Severity{v1alpha1.SeverityCritical, v1alpha1.SeverityHigh,
		v1alpha1.SeverityMedium, v1alpha1.SeverityLow} {
		if n := s.BySeverity[severity]; n > 0 {
			severities = append(severities, fmt.Sprintf("%d %s", n, severity))
		}
	}
	text := count(report.Objects, "object") + ", " + count(s.Violations, "violation")
	if len(severities) > 0 {
		text += " (" + strings.Join(severities, ", ") + ")"
	}
	if s.Warnings > 0 {
		text += ", " + count(s.Warnings, "warning")
	}
	return text + fmt.Sprintf(", %d waived, %s", s.Waived, count(s.Errors, "error"))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
