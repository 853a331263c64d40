// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/internal/prose"
)

// report is what a comparison comes to, for programs and for the table.
type report struct {
	Constraints []row `json:"constraints"`
}

// row is what both say by one constraint.
type row struct {
	Constraint string `json:"constraint"`
	Policy     string `json:"policy"`
	live.Comparison
	Admission *admissionRow `json:"admission,omitempty"`
}

// admissionRow is what both answer at admission.
type admissionRow struct {
	Verdict        live.Verdict   `json:"verdict"`
	Requests       int            `json:"requests"`
	OnlyGatekeeper []live.Finding `json:"onlyGatekeeper,omitempty"`
	OnlyEvenkeel   []live.Finding `json:"onlyEvenkeel,omitempty"`
	Notes          []string       `json:"notes,omitempty"`
}

func (r *row) unknown(why string) {
	r.Notes = append(r.Notes, why)
	if r.Verdict == live.Equal {
		r.Verdict = live.Unknown
	}
}

func (r *row) differs(why string) {
	r.Notes = append(r.Notes, why)
	r.Verdict = live.Different
}

// worst is the verdict on both what lives in the cluster and admission.
func (r *row) worst() live.Verdict {
	if r.Admission == nil || r.Verdict == live.Different || r.Admission.Verdict == live.Equal {
		return r.Verdict
	}
	return r.Admission.Verdict
}

func (r *report) write(out io.Writer, how *output.Flag) error {
	return how.Data(out, r, r.table)
}

func (r *report) table(out io.Writer) error {
	table := output.Columns(out, "CONSTRAINT", "POLICY", "VERDICT", "GATEKEEPER", "EVENKEEL", "ADMISSION")
	for _, row := range r.Constraints {
		admission := "-"
		if a := row.Admission; a != nil {
			admission = fmt.Sprintf("%s (%d)", a.Verdict, a.Requests)
		}
		output.Row(table, row.Constraint, cmp.Or(row.Policy, "-"), string(row.Verdict), strconv.Itoa(row.Gatekeeper),
			strconv.Itoa(row.Evenkeel), admission)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, row := range r.Constraints {
		details(out, row.Constraint, row.OnlyGatekeeper, row.OnlyEvenkeel, row.Notes)
		if a := row.Admission; a != nil {
			details(out, row.Constraint+" at admission", a.OnlyGatekeeper, a.OnlyEvenkeel, a.Notes)
		}
	}
	return nil
}

func details(out io.Writer, of string, theirs, ours []live.Finding, notes []string) {
	if len(theirs)+len(ours)+len(notes) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", of)
	for _, f := range theirs {
		fmt.Fprintf(out, "  only Gatekeeper: %s\n", prose.OneLine(f.String()))
	}
	for _, f := range ours {
		fmt.Fprintf(out, "  only Evenkeel:   %s\n", prose.OneLine(f.String()))
	}
	for _, note := range notes {
		fmt.Fprintf(out, "  note: %s\n", prose.OneLine(note))
	}
}
