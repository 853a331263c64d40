// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"

	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// permitted asks the breakers right before a write, and takes the permits of those
// that are half-open. A write that one of them doesn't let through now waits: the
// next look finds the gate closed, and says why.
func (e *executor) permitted(ctx context.Context, p *execute.Pass, intent rollout.Intent) (rollout.Intent, error) {
	if len(intent.Write) == 0 {
		return intent, nil
	}
	namespaces := map[string]bool{}
	for _, i := range intent.Write {
		namespaces[p.Records.Target(i).Object.Namespace] = true
	}
	gate, err := e.breakers.Admit(ctx, p.Remediation, namespaces)
	if err != nil || !gate.Closed {
		return intent, err
	}
	intent.Write, intent.Wait = nil, rollout.MinWait
	intent.Message = gate.Message
	return intent, nil
}

// giveBack gives back the permits of a plan that ended without an outcome, or that
// can't write now and has nothing in flight: it may wait for long, and others are
// to probe meanwhile. It asks anew before its next write.
func (e *executor) giveBack(ctx context.Context, p *execute.Pass, intent rollout.Intent) error {
	if endsWithoutOutcome(intent) {
		return e.breakers.Release(ctx, p.Remediation)
	}
	if !intent.Idle() || p.Records.Counts().InFlight > 0 {
		return nil
	}
	held, err := e.breakers.HeldBy(ctx, p.Remediation)
	if err != nil || !held {
		return err
	}
	return e.breakers.Release(ctx, p.Remediation)
}
