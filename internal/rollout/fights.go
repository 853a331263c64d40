// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// A target that was fixed and that somebody else set back is lost to a fight: it was
// written, and the fix isn't at fault. What is said of a plan says so, and with whom.

// fought says whether the target was fixed, and set back by somebody else.
func (t TargetView) fought() bool {
	return t.State == v1alpha1.TargetFailed && t.Reason == v1alpha1.ReasonFighting
}

// fights are those of some targets that are lost to fights.
func (o Observation) fights(of []int) []int {
	return slices.DeleteFunc(slices.Clone(of), func(i int) bool { return !o.Targets[i].fought() })
}

// failedTargets are all targets of the plan that failed.
func (o Observation) failedTargets() []int {
	var failed []int
	for i, t := range o.Targets {
		if t.State == v1alpha1.TargetFailed {
			failed = append(failed, i)
		}
	}
	return failed
}

// fight tells the last of some fights: which object, who set which field back, and what to do.
func (o Observation) fight(fights []int) string {
	last := o.Targets[fights[len(fights)-1]]
	text := last.Object.String() + ": " + last.Reason
	if last.Message != "" {
		text = last.Object.String() + ": " + last.Message
	}
	return text
}

// lastFight adds the last of some fights to a message; nothing when there was none.
func (o Observation) lastFight(fights []int) string {
	if len(fights) == 0 {
		return ""
	}
	return "; the last fight, " + o.fight(fights)
}

// cameToNothing says what became of candidates in a row that all failed: they couldn't be
// written, or were written and lost to a fight.
func (o Observation) cameToNothing(failed []int) string {
	switch fights := o.fights(failed); len(fights) {
	case 0:
		return inARow(len(failed)) + " couldn't be written"
	case len(failed):
		return fmt.Sprintf("%s %s fixed, and reverted in a fight", inARow(len(failed)),
			prose.Verb(len(failed), "was", "were"))
	default:
		return fmt.Sprintf("%s came to nothing, %d of them fixed, and reverted in a fight%s",
			inARow(len(failed)), len(fights), o.lastFight(fights))
	}
}

// inARow are so many candidates; of one there is no row.
func inARow(n int) string {
	return prose.Count(n, "candidate") + prose.Verb(n, "", " in a row")
}

// lastCandidate says why the last of candidates in a row failed, and what to do.
func (o Observation) lastCandidate(failed []int) string {
	last := o.Targets[failed[len(failed)-1]]
	if last.fought() {
		return "the last, " + o.fight(failed)
	}
	return fmt.Sprintf("the last, %s: %s; %s", last.Object.String(), last.Reason, remedy(last.Reason))
}

// noCanaryYet says why another canary is drawn.
func (o Observation) noCanaryYet(m Members) string {
	if fights := o.fights(m.failed); len(fights) > 0 {
		return fmt.Sprintf("no canary has proved anything yet: %d fixed, and reverted in a fight%s", len(fights),
			o.lastFight(fights))
	}
	return "no canary could be written yet"
}

// notFixed tells the targets that failed in a plan that has ended: those that couldn't be
// fixed, and those that were.
func (o Observation) notFixed() string {
	failed := o.failedTargets()
	fights := o.fights(failed)
	text := ""
	if n := len(failed) - len(fights); n > 0 {
		text = fmt.Sprintf("; %d couldn't be fixed: see their reasons in the slices", n)
	}
	if len(fights) > 0 {
		text += fmt.Sprintf("; %d fixed, and reverted in a fight%s", len(fights), o.lastFight(fights))
	}
	return text
}

// notTouched tells of targets whose fix others have reverted: a rollback undoes nothing more of them,
// though fields of the fix that nobody reverted, or an object that it created, may be left.
func (o Observation) notTouched() string {
	n := len(slices.DeleteFunc(o.fights(o.failedTargets()), func(i int) bool {
		return !o.undoesAll() && o.Targets[i].Wave != o.Status.Wave
	}))
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %s whose fix somebody else has reverted %s not touched: the slices' records say what was "+
		"written", prose.Count(n, "target"), prose.Verb(n, "is", "are"))
}
