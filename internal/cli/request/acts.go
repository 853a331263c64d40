// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Act is something that a person has asked of an object.
type Act struct {
	// Of is the name of the object.
	Of string
	At time.Time
	// What was asked for, by whom and why.
	What, User, Why string

	// recorded says that it is of the records that the object keeps, of which only so many are kept.
	recorded bool
}

// ActsOf are what people have asked of an object, by the records that it keeps.
func ActsOf(name string, records []v1alpha1.RequestRecord) []Act {
	acts := make([]Act, len(records))
	for i, r := range records {
		acts[i] = Act{Of: name, At: r.RequestTime.Time, What: r.What(), User: r.User, Why: r.Reason,
			recorded: true}
	}
	return acts
}

// PrintActsOf lists what people have asked of objects, by their records. none is said when nobody has
// asked anything.
func PrintActsOf[T any](out io.Writer, heading, none string, objects []T,
	of func(*T) (name string, records []v1alpha1.RequestRecord)) error {
	var acts []Act
	for i := range objects {
		acts = append(acts, ActsOf(of(&objects[i]))...)
	}
	if len(acts) == 0 {
		_, err := fmt.Fprintln(out, none)
		return err
	}
	return PrintActs(out, heading, acts)
}

// PrintActs lists acts below a heading, those of each object together and the oldest first, and says of which earlier
// ones may be forgotten.
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
			cmp.Or(prose.OneLine(a.User), "-"), cmp.Or(prose.OneLine(a.Why), "-"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print who asked for what: %w", err)
	}
	if full := filled(order, acts); len(full) > 0 {
		if _, err := fmt.Fprintf(out, "\n%s: %s\n", strings.Join(full, ", "), v1alpha1.OlderRequests); err != nil {
			return fmt.Errorf("print who asked for what: %w", err)
		}
	}
	return nil
}

// filled are the objects that keep as many records as they can: earlier ones are gone, if there were any.
func filled(names []string, acts []Act) (out []string) {
	kept := map[string]int{}
	for _, a := range acts {
		if a.recorded {
			kept[a.Of]++
		}
	}
	for _, name := range names {
		if kept[name] >= v1alpha1.MaxRequests {
			out = append(out, name)
		}
	}
	return out
}
