package remediate

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// checkOutcomes: what the namespaces' breakers learn of targets adds up to what
// the policy's learns, for every simulated target lives in a namespace.
func (r *rules) checkOutcomes(s simStep) {
	for _, o := range s.Intent.Outcomes {
		sum := int32(0)
		for _, n := range o.Namespaces {
			sum += n
		}
		ofTargets := o.Type != rollout.OutcomePlanSucceeded && o.Type != rollout.OutcomePlanFailed
		ofTargets = ofTargets && s.Intent.Reason != v1alpha1.ReasonAnalysisFailed // metrics speak of a wave
		if ofTargets && sum != o.Count || sum == 0 {
			r.sim.fault("outcome %s %s of %d targets counts %v by namespace", o.Type, o.Key, o.Count, o.Namespaces)
		}
	}
}
