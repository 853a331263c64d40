// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/prose"
)

// shownReasons is how many reasons are told for which fixes aren't proven.
const shownReasons = 5

// drawTrials writes trials for people.
func drawTrials(out io.Writer, trials []check.Trial, style display.Style) {
	for i := range trials {
		t := &trials[i]
		fmt.Fprintf(out, "%s, revision %s%s\n", "Policy "+t.Policy, t.Revision, beside(t))
		fmt.Fprintf(out, "  Objects     %d judged, %d violate it, %d of them waived", t.Objects, t.Violating, t.Waived)
		if t.Unjudged > 0 {
			fmt.Fprintf(out, ", %s", style.Bad(fmt.Sprintf("%d couldn't be judged", t.Unjudged)))
		}
		fmt.Fprintf(out, "\n  Admission   %s\n", atAdmission(t))
		drawFixes(out, t)
		drawTime(out, t)
		fmt.Fprintln(out)
	}
}

// beside says what is in force under the policy's name.
func beside(t *check.Trial) string {
	switch t.InForce {
	case "":
		return "; none of that name is in force"
	case t.Revision:
		return ", which is in force"
	}
	return "; in force is " + t.InForce
}

// atAdmission says what becomes of the violating objects when they are written.
func atAdmission(t *check.Trial) string {
	n := t.Violating - t.Waived
	switch t.Action {
	case v1alpha1.AdmissionDeny:
		return fmt.Sprintf("%d %s would be refused if created now", n, prose.Plural(n, "object"))
	case v1alpha1.AdmissionWarn:
		return fmt.Sprintf("%d %s would be warned of if created now", n, prose.Plural(n, "object"))
	case v1alpha1.AdmissionAudit:
	}
	return "nothing is refused: violations are only recorded"
}

func drawFixes(out io.Writer, t *check.Trial) {
	unfixed := 0
	for _, n := range t.Unfixed {
		unfixed += n
	}
	if t.Proven+unfixed == 0 {
		return
	}
	fmt.Fprintf(out, "  Fixes       %d proven, %d not\n", t.Proven, unfixed)
	reasons := slices.SortedFunc(maps.Keys(t.Unfixed), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.Unfixed[b], t.Unfixed[a]), cmp.Compare(a, b))
	})
	for _, reason := range reasons[:min(len(reasons), shownReasons)] {
		fmt.Fprintf(out, "              %d: %s\n", t.Unfixed[reason], reason)
	}
	if more := len(reasons) - shownReasons; more > 0 {
		fmt.Fprintf(out, "              and %d more %s\n", more, prose.Plural(more, "reason"))
	}
}

// maxPlans is how many policies are told how to plan.
const maxPlans = 5

// nextSteps says how to see what the rollouts of the fixes would be, policy by policy.
func nextSteps(trials []check.Trial, paths []string) string {
	command := func(t check.Trial) string {
		return fmt.Sprintf("evenkeel plan %s -p %s", t.Policy, strings.Join(paths, " -p "))
	}
	if len(trials) == 1 {
		return "What the rollout of its fixes would be: " + command(trials[0])
	}
	lines := []string{"What the rollout of each one's fixes would be:"}
	for _, t := range trials[:min(len(trials), maxPlans)] {
		lines = append(lines, "  "+command(t))
	}
	if more := len(trials) - maxPlans; more > 0 {
		lines = append(lines, fmt.Sprintf("  and so on, of %s", prose.Count(more, "more policy")))
	}
	return strings.Join(lines, "\n")
}

func drawTime(out io.Writer, t *check.Trial) {
	if t.Objects == 0 {
		return
	}
	fmt.Fprintf(out, "  Time        %s an object on average, %s at most (%s)\n", t.Mean.Round(time.Microsecond),
		t.Slowest.Round(time.Microsecond), t.SlowestObject)
}
