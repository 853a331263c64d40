// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"fmt"
	"strings"
	"text/tabwriter"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// attemptEntry is the name under which a spec's report holds what was tried.
const attemptEntry = "attempt"

// attempt says what the present spec tries, in the attacker's terms. The text of
// the spec itself says what holds.
func attempt(text string) { AddReportEntry(attemptEntry, text) }

// table shows what was tried, and what came of it.
func table(specs []types.SpecReport) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OUTCOME\tATTEMPT\tWHAT MUST HOLD")
	held, broken := 0, 0
	for _, spec := range specs {
		if spec.LeafNodeType != types.NodeTypeIt || spec.State.Is(types.SpecStateSkipped|types.SpecStatePending) {
			continue
		}
		outcome := "held"
		if spec.State.Is(types.SpecStateFailureStates) {
			outcome = "BROKEN"
			broken++
		} else {
			held++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", outcome, tried(spec), spec.FullText())
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	fmt.Fprintf(&out, "\n%d attempts: %d held, %d broken\n", held+broken, held, broken)
	return out.String()
}

// tried is what the spec says that it tries.
func tried(spec types.SpecReport) string {
	for _, entry := range spec.ReportEntries {
		if entry.Name == attemptEntry {
			return strings.Trim(entry.StringRepresentation(), `"`)
		}
	}
	return "-"
}
