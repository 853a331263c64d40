// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// propose tells what a plan that awaits its approval would do, a few targets a step, and
// says when the next step is due. It writes records alone.
func (c *Controller) propose(ctx context.Context, p *execute.Pass, intent rollout.Intent) (time.Duration, error) {
	if !intent.Phase.Facts().AsksPerson {
		return intent.Wait, nil
	}
	if proposal, waits, err := c.proposal(ctx, p); err != nil || waits != "" || proposal == nil ||
		proposal.Complete() {
		return intent.Wait, err
	}
	wait, err := p.Propose(ctx, c.clock.Now())
	if wait > 0 && (intent.Wait == 0 || wait < intent.Wait) {
		return wait, err
	}
	return intent.Wait, err
}

// proposal is what a plan that is to be approved would do, as far as it is known, and why
// it can't be known yet: without the permissions that its writes need, no dry run tells.
func (c *Controller) proposal(ctx context.Context, p *execute.Pass) (*preview.Proposal, string, error) {
	if p.Remediation.Spec.Plan.Rollout.Mode != v1alpha1.RemediationManual || p.Remediation.Status.Approval != nil {
		return nil, "", nil
	}
	proposal := preview.ProposalOf(p.Remediation, p.Records.Slices)
	if proposal.Complete() {
		return proposal, "", nil
	}
	allowed := p.Remediation.Spec.Plan.Rollout.AllowedActions
	rules, err := c.permissions.Missing(ctx, permissions.OnTargets(pendingOf(p.Records.Views()), allowed))
	if err != nil || len(rules) == 0 {
		return proposal, "", err
	}
	return proposal, lackPermissions(rules), nil
}

// lackPermissions says which rules an administrator must add.
func lackPermissions(rules []string) string {
	return v1alpha1.LacksPermissions("writer", strings.Join(rules, "; "))
}
