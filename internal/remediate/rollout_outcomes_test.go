// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// checkOutcomes: what the namespaces' breakers learn of targets adds up to what
// the policy's learns, for every simulated target lives in a namespace.
func (r *rules) checkOutcomes(s simStep) {
	for _, o := range s.Intent.Outcomes {
		sum := int32(0)
		for _, n := range o.Namespaces {
			sum += n
		}
		ofTargets := o.Type != circuit.PlanSucceeded && o.Type != circuit.PlanFailed
		ofTargets = ofTargets && s.Intent.Reason != v1alpha1.ReasonAnalysisFailed // metrics speak of a wave
		if ofTargets && sum != o.Count || sum == 0 {
			r.sim.fault("outcome %s %s of %d targets counts %v by namespace", o.Type, o.Key, o.Count, o.Namespaces)
		}
	}
}

// endOfDenials: whatever admission denied has been counted by the time that its record
// says so, also when the controller died in between.
func (r *rules) endOfDenials(b *record.Records) error {
	for i, obj := range r.sim.objects {
		rec := b.Record(i)
		denied := rec.State == v1alpha1.TargetFailed && rec.Reason == v1alpha1.ReasonAdmissionDenied &&
			r.sim.rem.Spec.Plan.Rollout.Mode.Runs()
		if _, counted := r.sim.counted[fmt.Sprintf("%s/denied/%s", r.sim.rem.UID, obj.ref.UID)]; denied && !counted {
			return fmt.Errorf("%s: admission denied %s, and no breaker has heard of it", r.sim.rem.Status.Phase,
				obj.ref.String())
		}
	}
	return nil
}
