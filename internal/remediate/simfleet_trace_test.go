// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// trace writes a rollout down for people: one line a step, with the time, the
// phase, the wave, what was done to which target, and what the plan says of
// itself. Looks at which nothing changed are told in one line.
type trace struct {
	strings.Builder
	// counts tells how many targets instead of which, and a wave's batches in one line.
	counts bool
	last   entry
	// observers are the steps that the last entry also stands for.
	looks int
	until time.Duration
}

// entry is one line.
type entry struct {
	at      time.Duration
	phase   v1alpha1.RemediationPhase
	next    v1alpha1.RemediationPhase
	wave    string
	done    []deed
	message string
	// died: the controller died before the step was over.
	died bool
}

// deed is something done to targets, and where they stand after it.
type deed struct {
	verb, to string
	targets  []string
}

func (t *trace) step(s simStep) {
	phase := s.Observation.Status.Phase
	if phase == "" {
		phase = v1alpha1.PhasePlanned
	}
	e := entry{at: s.Observation.Now.Sub(simStart()), phase: phase, next: s.Intent.Phase,
		wave: shortLabel(s.Observation.Status.Wave),
		done: deeds(s), message: s.Intent.Reason + ": " + s.Intent.Message, died: s.Crashed}
	if s.Crashed {
		e.next, e.message = e.phase, "the controller dies over: "+e.message
	}
	switch {
	case t.last.phase == "":
		t.last = e
	case t.last.sameLook(e):
		t.looks, t.until = t.looks+1, e.at
	case t.counts && t.last.sameWork(e):
		t.last.add(e)
		t.looks, t.until = t.looks+1, e.at
	default:
		t.flush()
		t.last = e
	}
}

// sameLook: the phase stays, and nothing is done, again.
func (e entry) sameLook(next entry) bool {
	idle := len(e.done)+len(next.done) == 0 && !e.died && !next.died
	return idle && e.phase == e.next && e.phase == next.phase && next.phase == next.next && e.wave == next.wave
}

// sameWork: another batch of the same wave.
func (e entry) sameWork(next entry) bool {
	working := func(p v1alpha1.RemediationPhase) bool {
		return p == v1alpha1.PhaseApplying || p == v1alpha1.PhaseVerifying
	}
	return e.wave == next.wave && working(e.phase) && working(e.next) && working(next.phase) && working(next.next)
}

// add joins a later step of the same work.
func (e *entry) add(next entry) {
	for _, d := range next.done {
		i := slices.IndexFunc(e.done, func(have deed) bool { return have.verb == d.verb && have.to == d.to })
		if i < 0 {
			e.done = append(e.done, d)
			continue
		}
		e.done[i].targets = append(slices.Clone(e.done[i].targets), d.targets...)
	}
	e.next, e.message = next.next, next.message
}

func (t *trace) flush() {
	if t.last.phase == "" {
		return
	}
	phase := string(t.last.phase)
	if t.last.next != t.last.phase {
		phase += " → " + string(t.last.next)
	}
	fmt.Fprintf(t, "+%-8s | %-22s | %-6s | %s | %s\n", t.last.at, phase, t.last.wave, t.last.what(t.counts),
		t.last.message)
	if t.looks > 0 {
		fmt.Fprintf(t, "           ... and %d more steps like that, until +%s\n", t.looks, t.until)
	}
	t.last, t.looks = entry{}, 0
}

func (e entry) what(counts bool) string {
	if len(e.done) == 0 {
		return "look"
	}
	var parts []string
	for _, d := range e.done {
		who := strings.Join(d.targets, ", ")
		if counts {
			who = fmt.Sprintf("%d", len(d.targets))
		}
		parts = append(parts, fmt.Sprintf("%s %s: %s", d.verb, who, d.to))
	}
	return strings.Join(parts, "; ")
}

// deeds are the targets that the step worked on or whose records it changed.
func deeds(s simStep) []deed {
	var out []deed
	for i, after := range s.After {
		verb := verbOf(s, i)
		if verb == "" {
			continue
		}
		to := string(after.State)
		if after.Reason != "" && after.State != v1alpha1.TargetApplied && after.State != v1alpha1.TargetVerified {
			to += " (" + after.Reason + ")"
		}
		if after.Wave != s.Before[i].Wave {
			to += " in " + s.Observation.Label(after.Wave)
		}
		at := slices.IndexFunc(out, func(d deed) bool { return d.verb == verb && d.to == to })
		if at < 0 {
			out = append(out, deed{verb: verb, to: to})
			at = len(out) - 1
		}
		out[at].targets = append(out[at].targets, after.Object.String())
	}
	return out
}

func verbOf(s simStep, target int) string {
	switch {
	case slices.Contains(s.Intent.Write, target):
		return "write"
	case slices.Contains(s.Intent.Resolve, target):
		return "find out about"
	case slices.Contains(s.Intent.Preview, target):
		return "preview"
	case slices.Contains(s.Intent.Revert, target):
		return "undo"
	case s.After[target].Wave != s.Before[target].Wave:
		return "draw"
	case s.After[target].State != s.Before[target].State:
		return "mark"
	}
	return ""
}

// shortLabel tells a wave in a column.
func shortLabel(wave int32) string {
	if wave == 0 {
		return "canary"
	}
	return fmt.Sprintf("wave %d", wave)
}

// tell tells a whole rollout: the fleet, the steps, the end.
func tell(title string, s *simulation, steps string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", title)
	st := s.rem.Spec.Plan.Rollout
	fmt.Fprintf(&out, "%d targets in waves of %v; at most %d at a time, soak %s, deadline %s\n",
		len(s.objects), canary.Targets(s.rem.Spec.Plan.Waves), st.MaxInFlight, s.rem.Spec.Plan.LongestSoak(),
		st.ProgressDeadline.Duration)
	for _, o := range s.objects {
		if o.Says != "" {
			fmt.Fprintf(&out, "%s %s\n", o.ref.String(), o.Says)
		}
	}
	fmt.Fprintf(&out, "\n%s\n", steps)
	c := s.rem.Status.Counts
	fmt.Fprintf(&out, "%s (%s) after %s and %d steps: %d done, %d skipped, %d failed, %d reverted, %d in conflict, %d "+
		"pending, %d in flight\n",
		s.rem.Status.Phase, s.rem.Status.Reason, s.since(), s.steps, c.Done, c.Skipped, c.Failed, c.Reverted,
		c.RevertConflict, c.Pending, c.InFlight)
	for _, o := range s.told {
		fmt.Fprintf(&out, "breakers count %s x%d (%s)\n", strings.TrimPrefix(string(o.Type), "Target"), o.Count,
			strings.TrimPrefix(o.Key, "plan-uid/"))
	}
	return out.String()
}
