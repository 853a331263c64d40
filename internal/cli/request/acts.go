// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Act is something that a person has asked of an object.
type Act struct {
	// Of is the name of the object.
	Of string
	At time.Time
	// What was asked for, by whom and why.
	What, User, Why string
}

// ActsOf are what people have asked of an object, by the records that it keeps.
func ActsOf(name string, records []v1alpha1.RequestRecord) []Act {
	acts := make([]Act, len(records))
	for i, r := range records {
		acts[i] = Act{Of: name, At: r.Time.Time, What: string(r.Action), User: r.User, Why: r.Reason}
	}
	return acts
}

// PrintActs lists acts below a heading, those of each object together and the oldest first.
func PrintActs(out io.Writer, heading string, acts []Act) error {
	var order []string
	for _, a := range acts {
		if !slices.Contains(order, a.Of) {
			order = append(order, a.Of)
		}
	}
	slices.SortStableFunc(acts, func(a, b Act) int {
		return cmp.Or(slices.Index(order, a.Of)-slices.Index(order, b.Of), a.At.Compare(b.At))
	})
	table := output.Columns(out, heading, "WHEN", "ASKED FOR", "BY", "WHY")
	for _, a := range acts {
		output.Row(table, a.Of, a.At.UTC().Format("2006-01-02 15:04:05Z"), a.What,
			cmp.Or(policy.OneLine(a.User), "-"), cmp.Or(policy.OneLine(a.Why), "-"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print who asked for what: %w", err)
	}
	return nil
}
