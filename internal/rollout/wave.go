// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// Members are the targets of one wave by what can be done with them.
type Members struct {
	Ready    []int // pending, may be written now
	later    []int // pending, waiting for another try
	full     []int // pending, waiting for room in a budget, or for another plan
	next     []int // pending, waiting until what is written of the wave has soaked
	barred   []int // pending, kept back by something that lasts
	Intents  []int // recorded writes to find out about
	Applied  []int // written, not verified
	Verified []int // verified, not soaked
	failed   []int // settled without success before or after a write
	total    int
	nextTry  time.Time // the earliest next attempt of those that wait
}

// Members sorts the targets of a wave by what can be done with them.
func (o Observation) Members(wave int32) Members {
	var m Members
	for i, t := range o.Targets {
		if t.Wave == wave {
			m.total++
			waits := t.NextAttemptAt.After(o.Now)
			if waits && !t.State.Settled() && (m.nextTry.IsZero() || t.NextAttemptAt.Before(m.nextTry)) {
				m.nextTry = t.NextAttemptAt
			}
			if t.State == v1alpha1.TargetPending && !t.LandsUntil.IsZero() && !t.LandsUntil.After(o.Now) {
				m.Intents = append(m.Intents, i) // to be looked at for the last time
				continue
			}
			m.add(i, t, waits)
		}
	}
	if o.MostInWave > 0 {
		m.narrow(o.MostInWave - len(m.Intents) - len(m.Applied) - len(m.Verified))
	}
	return m
}

// narrow keeps a wave to what may be written of it before that has soaked; room is how
// many more may be.
func (m *Members) narrow(room int) {
	if room > 0 {
		most := min(room, len(m.Ready))
		m.Ready, m.next = m.Ready[:most], m.Ready[most:]
		return
	}
	m.next = slices.Concat(m.Ready, m.later, m.full)
	m.Ready, m.later, m.full = nil, nil, nil
}

func (m *Members) add(i int, t TargetView, waits bool) {
	switch t.State {
	case v1alpha1.TargetPending:
		m.addPending(i, t, waits)
	case v1alpha1.TargetIntent:
		m.Intents = append(m.Intents, i)
	case v1alpha1.TargetApplied:
		m.Applied = append(m.Applied, i)
	case v1alpha1.TargetVerified:
		m.Verified = append(m.Verified, i)
	case v1alpha1.TargetFailed:
		m.failed = append(m.failed, i)
	case v1alpha1.TargetDone, v1alpha1.TargetPreviewed, v1alpha1.TargetSkipped,
		v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict:
	}
}

func (m *Members) addPending(i int, t TargetView, waits bool) {
	switch {
	case t.Barred != "" && !t.passes():
		m.barred = append(m.barred, i)
	case waits:
		m.later = append(m.later, i)
	case t.Barred != "":
		m.full = append(m.full, i)
	default:
		m.Ready = append(m.Ready, i)
	}
}

// passes says whether what bars a target soon passes by itself.
func (t TargetView) passes() bool {
	return t.BarredReason == v1alpha1.ReasonBudgetSpent || t.BarredReason == v1alpha1.ReasonOtherPlan
}

// Pending says whether any target of the wave is still to be written.
func (m Members) Pending() bool { return m.soon() || len(m.barred) > 0 }

// soon says whether any target may be written without a person's doing.
func (m Members) soon() bool { return len(m.Ready)+len(m.later)+len(m.full) > 0 }

// Written says whether any target of the wave awaits its verification or soak.
func (m Members) Written() bool { return len(m.Applied)+len(m.Verified) > 0 }

// toVerify says whether it is time to verify: a batch is written, or a verified
// wave has nothing left to write and may soak. While a verified wave waits for
// another try, verifying it would only lead back to waiting, at once.
func (m Members) toVerify(open bool) bool {
	return len(m.Applied) > 0 || m.Written() && !(open && m.soon())
}

// Open says whether new writes may begin now.
func (o Observation) Open() bool {
	return o.Stop == "" && o.Abort == "" && !o.Gate.Closed && !o.unapproved()
}

// unapproved reports whether the wave at work needs a person's approval, and none is recorded. Only a
// recorded answer counts: a write never precedes it.
func (o Observation) unapproved() bool {
	_, awaits := (&v1alpha1.Remediation{Spec: o.Spec, Status: o.Status}).AwaitsApproval()
	return awaits
}

// shut is why no new write of a wave may begin that is nowhere under way; an
// open gate when one may.
func (o Observation) shut(m Members) Gate {
	switch {
	case o.Gate.Closed:
		return o.Gate
	case o.verdict() == v1alpha1.AnalysisInconclusive:
		return Gate{Closed: true, Reason: v1alpha1.ReasonAnalysisInconclusive, Message: o.Analysis.Message}
	case len(m.barred) > 0 && !m.soon() && len(o.leftBehind(m)) == 0:
		t := o.Targets[m.barred[0]]
		return Gate{Closed: true, Reason: cmp.Or(t.BarredReason, v1alpha1.ReasonBreakerOpen), Message: t.Barred}
	}
	return Gate{}
}

// nextWave is the first wave with an unsettled target.
func (o Observation) nextWave() (int32, bool) {
	next, found := int32(0), false
	for _, t := range o.Targets {
		switch {
		case t.State.Settled():
		case found:
			next = min(next, t.Wave)
		default:
			next, found = t.Wave, true
		}
	}
	return next, found
}

// settled says whether no target is left to work on.
func (o Observation) settled() bool {
	_, found := o.nextWave()
	return !found
}

// leftToOwners is the number of targets that somebody else must fix.
func (o Observation) leftToOwners() int {
	n := 0
	for _, t := range o.Targets {
		if t.State == v1alpha1.TargetSkipped &&
			(t.Reason == v1alpha1.ReasonManaged || t.Reason == v1alpha1.ReasonOwned) {
			n++
		}
	}
	return n
}

// DoneIn says whether any target of a stage is done: its canary has proved something.
func (o Observation) DoneIn(s canary.Stage) bool {
	return slices.ContainsFunc(o.Targets, func(t TargetView) bool {
		return t.State == v1alpha1.TargetDone && s.Holds(t.Wave)
	})
}

// Count is the number of targets in a state.
func (o Observation) Count(state v1alpha1.TargetState) int {
	n := 0
	for _, t := range o.Targets {
		if t.State == state {
			n++
		}
	}
	return n
}

// namespaces counts marked targets by the namespace that they live in.
func (o Observation) namespaces(marks []Mark) map[string]int32 {
	counts := map[string]int32{}
	for _, m := range marks {
		if namespace := o.Targets[m.Target].Object.Namespace; namespace != "" {
			counts[namespace]++
		}
	}
	return counts
}

// maxFailedIn bounds the namespaces that a plan keeps; two are enough to decide.
const maxFailedIn = 16

// places are the namespaces of marked targets, cluster scope as an empty one.
func (o Observation) places(marks []Mark) []string {
	in := map[string]bool{}
	for _, m := range marks {
		in[o.Targets[m.Target].Object.Namespace] = true
	}
	all := slices.Sorted(maps.Keys(in))
	return all[:min(len(all), maxFailedIn)]
}

// fixed counts the targets that are done by the namespace that they live in.
func (o Observation) fixed() map[string]int32 {
	var done []Mark
	for i, t := range o.Targets {
		if t.State == v1alpha1.TargetDone {
			done = append(done, Mark{Target: i})
		}
	}
	return o.namespaces(done)
}

// notAttempted marks every pending target as skipped: the plan ends before their turn.
func (o Observation) notAttempted(why string) []Mark {
	var marks []Mark
	for i, t := range o.Targets {
		if t.State == v1alpha1.TargetPending {
			marks = append(marks, Mark{Target: i, State: v1alpha1.TargetSkipped,
				Reason: v1alpha1.ReasonNotAttempted, Message: why})
		}
	}
	return marks
}

// Key identifies an outcome of this very plan, so that one which is deleted and made
// again under its name counts anew. What happens after a person has asked
// to verify once more is another outcome.
func (o Observation) Key(what string) string {
	key := string(o.UID) + "/" + what
	if o.Status.Retries > 0 {
		key += fmt.Sprintf("/retry%d", o.Status.Retries)
	}
	return key
}
