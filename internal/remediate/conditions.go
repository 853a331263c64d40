// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// setHeldSince keeps since when the plan has waited for something that may need
// a person, whatever that was in turn.
func setHeldSince(s *v1alpha1.RemediationStatus, intent rollout.Intent, now *metav1.MicroTime) {
	waits := intent.Stuck || s.Phase.Facts().Waits || s.Phase == v1alpha1.PhaseRollbackIncomplete
	switch {
	case !waits:
		s.HeldSince = nil
	case s.HeldSince == nil:
		s.HeldSince = now
	}
}

// resetAnalysis forgets what metrics have said for a wave, but not how things stood
// before its first write. What they have said against it is forgiven by a person
// only, who asks to verify the wave once more.
func resetAnalysis(records []v1alpha1.MetricRecord, forgive bool) {
	for i := range records {
		rec := &records[i]
		if forgive {
			rec.Failed = 0
		} else if rec.Verdict == v1alpha1.AnalysisFailed {
			continue
		}
		rec.Passed, rec.Verdict, rec.Message = 0, "", ""
	}
}

func orPhase(reason string, phase v1alpha1.RemediationPhase) string {
	if reason != "" {
		return reason
	}
	return string(phase)
}

// stuck says that the plan can't be read, and so can neither go on nor end.
func (c *Controller) stuck(rem *v1alpha1.Remediation, err error) {
	message := fmt.Sprintf("%s: somebody deleted it, and what it knew of undoing with it. Restore it from a backup, "+
		"or check the plan's targets by hand "+
		"and then let the plan go: kubectl delete remediation %[2]s --wait=false; kubectl patch remediation %[2]s "+
		"--type=merge -p '{\"metadata\":{\"finalizers\":null}}'", err, rem.Name)
	c.standStill(rem, v1alpha1.ReasonSliceMissing, message)
}

// standStill says why a plan can neither go on nor end, and tells people once.
func (c *Controller) standStill(rem *v1alpha1.Remediation, reason, message string) {
	news := rem.Status.Reason != reason || rem.Status.Message != message
	rem.Status.Reason, rem.Status.Message = reason, message
	now := metav1.NewMicroTime(c.clock.Now())
	setHeldSince(&rem.Status, rollout.Intent{Stuck: true}, &now)
	c.setConditions(rem, reason)
	if news {
		c.events.Rollout(rem, v1alpha1.EventRemediationStuck, message)
	}
}

// report records events for the step's transitions.
func (c *Controller) report(rem *v1alpha1.Remediation, o rollout.Observation, intent rollout.Intent,
	before []rollout.TargetView, b *record.Records) {
	c.reportTargets(rem, before, b)
	c.metrics.observe(rem, o, intent, before, b)
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
	if o.Status.Phase == v1alpha1.PhaseSoaking && intent.Phase == v1alpha1.PhaseApplying {
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
	for i := range b.Places {
		rec, ref := b.Record(i), b.Target(i).Object
		switch {
		case rec.State != before[i].State:
			if reason, note := targetEvent(rem, before[i].State, rec); reason != "" {
				c.events.Target(ref, rem, reason, note)
			}
		case rem.Status.Phase == v1alpha1.PhaseRollingBack && rec.Attempts == rollout.StuckAfter &&
			before[i].Attempts < rollout.StuckAfter:
			c.events.Rollout(rem, v1alpha1.EventRemediationStuck,
				fmt.Sprintf("%s can't be set back, and is tried again for ever: %s", ref.String(), rec.Message))
		}
	}
}

// targetEvent is the event of a target's new state, or "" for none.
func targetEvent(rem *v1alpha1.Remediation, was v1alpha1.TargetState, rec *v1alpha1.TargetRecord) (
	reason, note string) {
	switch {
	case rec.State == v1alpha1.TargetApplied && was != v1alpha1.TargetVerified:
		return v1alpha1.EventRemediated,
			fmt.Sprintf("changed by policy %s: %s", rem.Spec.Plan.Policy.Name, fieldsOf(rec))
	case rec.State == v1alpha1.TargetReverted:
		return v1alpha1.EventRemediationReverted,
			fmt.Sprintf("set back to what it was: %s. %s", fieldsOf(rec), rec.Message)
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

func fieldsOf(rec *v1alpha1.TargetRecord) string {
	if rec.Write == nil {
		return "no field"
	}
	text := ""
	for i, f := range rec.Write.Fields {
		if i == 8 {
			return fmt.Sprintf("%s and %d more", text, len(rec.Write.Fields)-8)
		}
		if i > 0 {
			text += ", "
		}
		text += f.Path
	}
	return text
}
