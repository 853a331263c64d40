// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// poll is how often a step is looked at until it is confirmed.
const poll = 500 * time.Millisecond

// confirmPolicy waits until the manager says that the policy does that at admission, and until that may have reached
// all replicas.
func (h *Handover) confirmPolicy(ctx context.Context, action v1alpha1.AdmissionAction) error {
	return h.confirm(ctx, func() error {
		p, err := h.Cluster.Policy(ctx)
		if err != nil {
			return err
		}
		if err := Enforces(p, action); err != nil {
			return err
		}
		return h.Answers(ctx)
	})
}

func (h *Handover) confirmConstraint(ctx context.Context) error {
	return h.confirm(ctx, func() error {
		c, err := h.Cluster.Constraint(ctx)
		if err != nil {
			return err
		}
		return enforcesItself(c)
	})
}

// heldEnforcing reads both as held does, once Gatekeeper reports that it enforces the constraint as it is now: its
// replicas' reports are gone from the status for a moment whenever Gatekeeper writes that anew.
func (h *Handover) heldEnforcing(ctx context.Context) (*v1alpha1.ClusterRegoPolicy, *Constraint, error) {
	var p *v1alpha1.ClusterRegoPolicy
	var c *Constraint
	err, stopped := h.await(ctx, h.Timeout, func() (lasts bool, err error) {
		if p, c, err = h.held(ctx); err != nil {
			return true, err
		}
		return setAgain(c), enforcesItself(c)
	})
	if stopped != nil {
		return nil, nil, stopped
	}
	return p, c, err
}

// moment is how long the reports of Gatekeeper's replicas may be gone when nobody else enforces any more.
const moment = 2 * time.Second

// stillEnforces says why Gatekeeper isn't known to enforce the constraint any more. Reports that are gone are awaited
// as heldEnforcing does, but for a moment only; what somebody has changed isn't.
func (h *Handover) stillEnforces(ctx context.Context) error {
	err, _ := h.await(ctx, moment, func() (lasts bool, err error) {
		c, err := h.Cluster.Constraint(ctx)
		if err != nil {
			return true, err
		}
		return setAgain(c), enforcesItself(c)
	})
	return err
}

// setAgain says that somebody has taken the enforcement from the constraint.
func setAgain(c *Constraint) bool { return c.EnforcedBy() != "" || c.Enforcement() == dryRun }

// enforcesItself says why Gatekeeper isn't known to enforce a constraint as it is now.
func enforcesItself(c *Constraint) error {
	if setAgain(c) {
		return fmt.Errorf("somebody has set constraint %s to %q again", c.ID(), c.Enforcement())
	}
	if err := c.Unenforced(); err != nil {
		return fmt.Errorf("constraint %s: %w", c.ID(), err)
	}
	return nil
}

// confirm asks until the answer is no error, and waits once more then.
func (h *Handover) confirm(ctx context.Context, ask func() error) error {
	switch err, stopped := h.await(ctx, h.Timeout, func() (bool, error) { return false, ask() }); {
	case stopped != nil:
		return errors.Join(stopped, err)
	case err != nil:
		return fmt.Errorf("it isn't confirmed within %s: %w", h.Timeout, err)
	}
	return h.Wait(ctx, h.Delay)
}

// await asks until the answer is no error, or one that lasts however long it waits, and gives up after a limit. It
// returns the last answer, and what stopped it from waiting.
func (h *Handover) await(ctx context.Context, limit time.Duration, ask func() (lasts bool, err error)) (
	answer, stopped error) {
	for waited := time.Duration(0); ; waited += poll {
		lasts, err := ask()
		if err == nil || lasts || waited >= limit {
			return err, nil
		}
		if stopped := h.Wait(ctx, poll); stopped != nil {
			return err, stopped
		}
	}
}
