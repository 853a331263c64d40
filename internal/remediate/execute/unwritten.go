// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// notifyBatch is how many objects that are left alone are looked at in a step.
const notifyBatch = 64

// ToSkip are the next targets to be recorded without a write, and else how
// long to wait for the next try of one that an API error has put off.
func (p *Pass) ToSkip(now time.Time) (batch []int, wait time.Duration) {
	for i, view := range p.Records.Views() {
		switch {
		case p.Records.Target(i).SkipReason == "" || view.State != v1alpha1.TargetPending:
		case view.NextAttemptAt.After(now):
			left := rollout.Until(now, view.NextAttemptAt)
			wait = min(cmp.Or(wait, left), left)
		case len(batch) < notifyBatch:
			batch = append(batch, i)
		}
	}
	return batch, wait
}

// Denials are the outcomes of the targets that admission denied in this pass.
func (p *Pass) Denials() []rollout.Outcome {
	var out []rollout.Outcome
	for _, i := range p.Denied {
		ref := p.Records.Target(i).Object
		denied := rollout.Outcome{Type: circuit.TargetFailed, Count: 1, Message: p.Records.Record(i).Message,
			Key: fmt.Sprintf("%s/denied/%s", p.Remediation.UID, ref.UID)}
		if ref.Namespace != "" {
			denied.Namespaces = map[string]int32{ref.Namespace: 1}
		}
		out = append(out, denied)
	}
	return out
}
