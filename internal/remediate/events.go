// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/approval"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// report records events for the step's transitions.
func (c *Controller) report(rem *v1alpha1.Remediation, o rollout.Observation, intent rollout.Intent,
	before []rollout.TargetView, b *record.Records) {
	c.reportTargets(rem, before, b)
	c.metrics.observe(rem, o, intent, before, b)
	if given := rem.Status.Approval; given != nil && (o.Status.Approval == nil || o.Status.Approval.Wave < given.Wave) {
		reason := v1alpha1.EventApproved
		if given.Decision == v1alpha1.DecisionReject {
			reason = v1alpha1.EventRejected
		}
		c.events.Rollout(rem, reason, approval.Describe(given))
		c.metrics.answered(rem)
	}
	if reason := transition(o, intent); reason != "" {
		c.events.Rollout(rem, reason, intent.Message)
	}
}

// transition names the event of a step, or "" when nothing that people want to
// know has happened.
func transition(o rollout.Observation, intent rollout.Intent) string {
	if intent.Reason == v1alpha1.ReasonApprovalOverdue && o.Status.Reason != intent.Reason {
		return v1alpha1.EventApprovalOverdue
	}
	if intent.Phase == o.Status.Phase {
		return ""
	}
	if o.WaveDone(intent) {
		if rollout.CanaryWave(o.Spec.Plan, o.Status.Wave) {
			return v1alpha1.EventCanaryPassed
		}
		return v1alpha1.EventWaveDone
	}
	return intent.Phase.Facts().Event
}

// reportTargets records an event for each target whose state has changed to one
// that its owners want to know of.
func (c *Controller) reportTargets(rem *v1alpha1.Remediation, before []rollout.TargetView, b *record.Records) {
	title := sync.OnceValue(func() string { return c.titleOf(rem.Spec.Plan.Policy.Name) })
	for i := range b.Places {
		rec, ref := b.Record(i), b.Target(i).Object
		switch {
		case rec.State != before[i].State:
			if reason, note := targetEvent(ref, rem, before[i].State, rec, title); reason != "" {
				c.events.Target(ref, rem, reason, note)
			}
		case rem.Status.Phase.Facts().Undoing() && rec.Attempts == rollout.StuckAfter &&
			before[i].Attempts < rollout.StuckAfter:
			c.events.Rollout(rem, v1alpha1.EventRemediationStuck,
				fmt.Sprintf("%s can't be reverted, and is tried again for ever: %s", ref.String(), rec.Message))
		}
	}
}

// shownFields bounds the fields that an event names; what is left of it bounds them too.
const shownFields = 8

// maxValue is how much of a field's value an event shows, in characters.
const maxValue = 60

// titleOf is what a policy asks for, in a line; empty for one that isn't there any more.
func (c *Controller) titleOf(policy string) string {
	if definition := c.policies.Snapshot().Definition(policy); definition != nil {
		return definition.Spec.Title
	}
	return ""
}

// targetEvent is the event of a target's new state, or "" for none.
func targetEvent(ref v1alpha1.ObjectReference, rem *v1alpha1.Remediation, was v1alpha1.TargetState,
	rec *v1alpha1.TargetRecord, title func() string) (reason, note string) {
	switch {
	case rec.State == v1alpha1.TargetApplied && was != v1alpha1.TargetVerified:
		return v1alpha1.EventRemediated, changedNote(ref, rem, rec, title())
	case rec.State == v1alpha1.TargetReverted:
		return v1alpha1.EventRemediationReverted, undoneNote(rem, rec)
	case rec.State == v1alpha1.TargetFailed && rec.Reason == v1alpha1.ReasonFighting:
		return v1alpha1.EventRemediationFight,
			fmt.Sprintf("fixed by policy %s, and %s", rem.Spec.Plan.Policy.Name, rec.Message)
	case rec.State == v1alpha1.TargetFailed || rec.State == v1alpha1.TargetRevertConflict:
		return v1alpha1.EventRemediationFailed, rec.Reason + ": " + rec.Message
	case rec.State == v1alpha1.TargetSkipped && fix.LeftToOwner(rec):
		return v1alpha1.EventManagedByOther, fix.ProposalNote(*rec)
	}
	return "", ""
}

// changedNote tells whoever owns a changed object, who may never have heard of Evenkeel: what
// was changed, by which policy and plan, how to opt out, why, and who answers for it. title is
// the policy's. What there is no room for is left out as a whole: half a command does harm.
func changedNote(ref v1alpha1.ObjectReference, rem *v1alpha1.Remediation, rec *v1alpha1.TargetRecord,
	title string) string {
	by := rem.Spec.Plan.Policy
	show := fieldPath
	if kube.ReadByView(ref.APIVersion, ref.Kind, ref.Namespace) { // as whoever may read events may read these
		show = fieldChange
	}
	return note(fmt.Sprintf("changed by policy %s (plan %s): ", by.Name, rem.Name), fieldsOf(rec, show), []notePart{
		{"To opt out", ref.OptOutCommand()}, {"Because", strings.TrimRight(title, ". ")}, {"Runbook", by.RunbookURL},
		{"Owner of the policy", by.Owner}})
}

// undoneNote tells whoever owns an object whose change was undone: what was set back, by which plan, who asked for it
// or what failed, and who answers for the policy.
func undoneNote(rem *v1alpha1.Remediation, rec *v1alpha1.TargetRecord) string {
	by := rem.Spec.Plan.Policy
	return note(fmt.Sprintf("restored to what it was before policy %s changed it (plan %s): ", by.Name, rem.Name),
		fieldsOf(rec, fieldPath), []notePart{{"Because", strings.TrimRight(whyUndone(rem, rec), ". ")},
			{"Runbook", by.RunbookURL}, {"Owner of the policy", by.Owner}})
}

// whyUndone is a person's word, else what the plan or the target says.
func whyUndone(rem *v1alpha1.Remediation, rec *v1alpha1.TargetRecord) string {
	action := v1alpha1.ActionAbort
	switch rem.Spec.DesiredState {
	case v1alpha1.StateUndone:
		action = v1alpha1.ActionUndo
	case v1alpha1.StateAborted:
	default:
		return cmp.Or(rec.Message, rem.Status.Message)
	}
	verb := map[v1alpha1.RequestAction]string{v1alpha1.ActionUndo: "undone by ", v1alpha1.ActionAbort: "aborted by "}
	return verb[action] + v1alpha1.LatestRequest(v1alpha1.Requests(rem), action).String()
}

// notePart is a sentence of an event.
type notePart struct{ name, text string }

// note is an event on an object: the fields that were written, and what else there is room for.
func note(head, fields string, parts []notePart) string {
	tail := ""
	for _, part := range parts {
		if next := ". " + part.name + ": " + prose.OneLine(part.text); part.text != "" &&
			len(head)+leastFields+len(tail)+len(next) <= events.MaxNote {
			tail += next
		}
	}
	return head + prose.Shorten(prose.OneLine(fields), max(events.MaxNote-len(head)-len(tail), 0)) + tail
}

// leastFields is the room that an event keeps for what was changed, in bytes.
const leastFields = 200

func fieldPath(f v1alpha1.FieldChange) string { return f.Path }

func fieldChange(f v1alpha1.FieldChange) string {
	return fmt.Sprintf("%s: %s → %s", f.Path, shownValue(f.Before), shownValue(f.After))
}

func shownValue(value *apiextensionsv1.JSON) string {
	if value == nil {
		return "(no field)"
	}
	return prose.ShortenCharacters(prose.OneLine(string(value.Raw)), maxValue)
}

// fieldsOf names the fields of a target's last write, the first few of them, or its action
// where it changes none.
func fieldsOf(rec *v1alpha1.TargetRecord, show func(v1alpha1.FieldChange) string) string {
	if rec.Write == nil || len(rec.Write.Fields) == 0 {
		return action(rec.Write)
	}
	var parts []string
	for _, f := range rec.Write.Fields[:min(len(rec.Write.Fields), shownFields)] {
		parts = append(parts, show(f))
	}
	text := strings.Join(parts, ", ")
	if more := len(rec.Write.Fields) - shownFields; more > 0 {
		text = fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}

// action tells a write that changes no field: what it does, and to what.
func action(w *v1alpha1.WriteRecord) string {
	switch {
	case w == nil || w.Action == "":
		return "no field"
	case w.Object == nil:
		return string(w.Action)
	}
	return fmt.Sprintf("%s %s", w.Action, w.Object.String())
}
