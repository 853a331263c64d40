// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"slices"
	"strings"
)

// figure is what became of the targets of one experiment.
type figure struct {
	// Fault is what was broken, and how often.
	Fault string
	// Targets is the number of objects to fix.
	Targets int
	// Writes is the number of successful writes to them, rollbacks included.
	Writes int
	// Double counts targets that were fixed, or reverted, more than once.
	Double int
	// Lost counts targets that ended in no state that their record explains.
	Lost int
	// RolledBack counts targets that were set back.
	RolledBack int
	// Wrong counts the fields that differ from what they were, after a rollback.
	Wrong int
	// Seconds is how long the experiment took.
	Seconds float64
}

// table writes the figures as a page of the docs.
func table(list []figure) string {
	var b strings.Builder
	b.WriteString(`# Faults, and what they did

Written by ` + "`make chaos`" + `, which breaks a real control plane, its neighbours and the
manager itself while rollouts are under way, and counts what became of every target.
The counts come from the write log of a proxy before the API server and from the
objects themselves, not from Evenkeel's own status. Every row is a spec in
[test/chaos](../test/chaos); a count that isn't 0 in the columns *double*, *lost* or
*wrong* fails it.

- **writes**: successful writes to targets, rollbacks included.
- **double**: targets that were fixed, or reverted, more than once.
- **lost**: targets whose state isn't what their record says.
- **wrong**: declared fields that aren't what they were before, after a rollback.

| fault | targets | writes | double | lost | rolled back | wrong | seconds |
|---|--:|--:|--:|--:|--:|--:|--:|
`)
	var sum figure
	slices.SortFunc(list, func(a, b figure) int { return strings.Compare(a.Fault, b.Fault) })
	for _, f := range list {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %.0f |\n", f.Fault, f.Targets, f.Writes, f.Double, f.Lost,
			f.RolledBack, f.Wrong, f.Seconds)
		sum.Targets, sum.Writes, sum.Double = sum.Targets+f.Targets, sum.Writes+f.Writes, sum.Double+f.Double
		sum.Lost, sum.RolledBack, sum.Wrong, sum.Seconds = sum.Lost+f.Lost, sum.RolledBack+f.RolledBack,
			sum.Wrong+f.Wrong, sum.Seconds+f.Seconds
	}
	fmt.Fprintf(&b, "| **all** | %d | %d | %d | %d | %d | %d | %.0f |\n", sum.Targets, sum.Writes, sum.Double, sum.Lost,
		sum.RolledBack, sum.Wrong, sum.Seconds)
	return b.String()
}
