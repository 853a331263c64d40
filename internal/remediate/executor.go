// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// executor carries out what the machine decides. It keeps nothing: what a crash may
// not lose goes to the breakers, to the store of the records, and to the objects
// that the pass reads and writes. The simulation of the tests puts its own behind
// these three, and so drives this very code through a crash after every effect.
type executor struct {
	breakers circuitBreakers
	store    client.Writer
}

// circuitBreakers is what carrying a step out asks of the circuit breakers.
type circuitBreakers interface {
	// Admit asks for the permit of writes in some namespaces, and takes it.
	Admit(ctx context.Context, rem *v1alpha1.Remediation, namespaces map[string]bool) (rollout.Gate, error)
	// Record counts outcomes, each key once.
	Record(ctx context.Context, rem *v1alpha1.Remediation, outcomes []rollout.Outcome) error
	// HeldBy says whether a plan holds a permit.
	HeldBy(ctx context.Context, rem *v1alpha1.Remediation) (bool, error)
	// Release gives a plan's permits back.
	Release(ctx context.Context, rem *v1alpha1.Remediation) error
}

// executor carries out the steps of this controller's plans on the cluster.
func (c *Controller) executor() *executor {
	return &executor{breakers: c.breakers, store: c.client}
}

// act does what the machine wants, in the order that makes every crash safe: the
// breakers learn of a failure before anything else happens, and records are
// persisted before the writes that they speak of.
func (e *executor) act(ctx context.Context, p *execute.Pass, intent rollout.Intent) error {
	if err := e.breakers.Record(ctx, p.Remediation, intent.Outcomes); err != nil {
		return err
	}
	for _, m := range intent.Marks {
		p.Records.Mark(m)
	}
	if intent.Phase.Final() {
		p.Records.Trim()
	}
	if err := p.Save(ctx); err != nil {
		return err
	}
	if err := p.Work(ctx, intent); err != nil {
		return err
	}
	return e.giveBack(ctx, p, intent)
}

// persist saves the records, once the breakers have counted the denials among
// them: a crash in between counts them again under the same key, and so once.
func (e *executor) persist(ctx context.Context, p *execute.Pass) error {
	if err := e.breakers.Record(ctx, p.Remediation, p.Denials()); err != nil {
		return err
	}
	p.Denied = nil
	return p.Records.Save(ctx, e.store)
}

// endsWithoutOutcome says whether a plan ends without having proved or failed
// anything: a breaker's permit that it holds must be given back.
func endsWithoutOutcome(intent rollout.Intent) bool {
	return intent.Phase.Final() && len(intent.Outcomes) == 0 // one that failed has lost its permit by then
}

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
