// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"

	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// CheckRecovered looks at an object whose write was undone: it must be as well as
// it was before the write. No answer is never a yes.
func (p *Pass) CheckRecovered(ctx context.Context, i int) *rollout.Check {
	rec := p.Records.Record(i)
	obj, err := p.Targets.Read(ctx, p.Records.Target(i).Object)
	switch {
	case kube.Classify(err) == kube.Gone, err == nil && obj.GetDeletionTimestamp() != nil, rec.Write == nil:
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "",
			Message: "nothing of it is left that could recover"}
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "",
			Message: "the object couldn't be read: " + err.Error()}
	}
	return healthcheck.AsWellAsBefore(p.Remediation.Spec.Plan.Strategy, obj, kube.ParseHealth(rec.Write.HealthBefore))
}
