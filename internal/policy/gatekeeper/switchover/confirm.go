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
	for waited := time.Duration(0); ; waited += poll {
		p, c, err := h.held(ctx)
		if err != nil {
			return nil, nil, err
		}
		if err := enforcesItself(c); err == nil || setAgain(c) || waited >= h.Timeout {
			return p, c, err
		}
		if err := h.Wait(ctx, poll); err != nil {
			return nil, nil, err
		}
	}
}

// moment is how long the reports of Gatekeeper's replicas may be gone when nobody else enforces any more.
const moment = 2 * time.Second

// stillEnforces says why Gatekeeper isn't known to enforce the constraint any more. Reports that are gone are awaited
// as heldEnforcing does, but for a moment only; what somebody has changed isn't.
func (h *Handover) stillEnforces(ctx context.Context) error {
	for waited := time.Duration(0); ; waited += poll {
		c, err := h.Cluster.Constraint(ctx)
		if err != nil {
			return err
		}
		if err = enforcesItself(c); err == nil || setAgain(c) || waited >= moment || h.Wait(ctx, poll) != nil {
			return err
		}
	}
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
	for waited := time.Duration(0); ; waited += poll {
		err := ask()
		if err == nil {
			return h.Wait(ctx, h.Delay)
		}
		if waited >= h.Timeout {
			return fmt.Errorf("it isn't confirmed within %s: %w", h.Timeout, err)
		}
		if stopped := h.Wait(ctx, poll); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}
