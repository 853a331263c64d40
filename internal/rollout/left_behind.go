// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// leftBehind leaves alone what the breaker of its namespace keeps back, when the wave has
// nothing else to write and the plan can go on elsewhere: one namespace isn't to stop
// the others. Of a canary it is all of the stage that is kept back, for the candidates to
// be drawn from elsewhere. A later plan takes them up.
func (o Observation) leftBehind(m Members) []Mark {
	if len(m.barred) == 0 || m.soon() || m.Written() || len(m.Intents) > 0 || !slices.ContainsFunc(o.Targets, free) {
		return nil
	}
	here := canary.StageOf(o.Spec.Plan, o.Status.Wave)
	first := here.First == o.Status.Wave
	var marks []Mark
	for i, t := range o.Targets {
		inReach := t.Wave == o.Status.Wave || first && here.Holds(t.Wave)
		if inReach && t.keptBack() {
			marks = append(marks, Mark{Target: i, State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonBreakerOpen,
				Message: t.Barred})
		}
	}
	return marks
}

// keptBack says whether a breaker of the target's namespace keeps it back.
func (t TargetView) keptBack() bool {
	return t.State == v1alpha1.TargetPending && t.Barred != "" &&
		(t.BarredReason == "" || t.BarredReason == v1alpha1.ReasonBreakerOpen)
}

// free says whether a target may still be written, now or soon.
func free(t TargetView) bool {
	return t.State == v1alpha1.TargetPending && (t.Barred == "" || t.passes())
}

// AllKeptBack is closed when nothing is left of a plan but what breakers of namespaces
// keep back.
func (o Observation) AllKeptBack() Gate {
	i := slices.IndexFunc(o.Targets, TargetView.keptBack)
	if i < 0 || slices.ContainsFunc(o.Targets, free) {
		return Gate{}
	}
	return Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen, Message: o.Targets[i].Barred}
}

// Bar keeps back the pending targets of the namespaces that refuse them, each with the
// namespace's reason. The gate closes if no other target is left.
func (o *Observation) Bar(refusals map[string]string) {
	for i, t := range o.Targets {
		if why, refused := refusals[t.Object.Namespace]; refused && t.State == v1alpha1.TargetPending {
			o.Targets[i].Barred = why
		}
	}
	o.Gate = o.AllKeptBack()
}
