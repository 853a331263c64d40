// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// verdict is what metrics say of the wave; empty when the strategy names none.
// A strategy that does, and no answer, is never a pass.
func (o Observation) verdict() v1alpha1.AnalysisVerdict {
	switch {
	case o.Spec.Plan.Strategy.Analysis == nil:
		return ""
	case o.Analysis.Verdict == "":
		return v1alpha1.AnalysisInconclusive
	default:
		return o.Analysis.Verdict
	}
}

// BaselineMissing says whether the answer of some metric from before the wave's
// first write is needed and isn't persisted yet. It can't be had afterwards.
func (o Observation) BaselineMissing() bool {
	analysis := o.Spec.Plan.Strategy.Analysis
	return analysis != nil && !canary.Baselined(analysis.Metrics, o.Status.Analysis, o.Status.Wave, o.Now)
}
