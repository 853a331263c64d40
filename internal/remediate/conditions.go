// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
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
