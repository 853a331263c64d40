// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
)

// drafter drafts plans. It reads the cluster and changes nothing in it, so that a
// preview drafts exactly as the planner does.
type drafter struct {
	reader   client.Reader
	policies breaker.Policies
	clock    clock.PassiveClock
	mapper   meta.RESTMapper
	tools    kube.Tools
	reach    limits.Reach
	floors   limits.Floors
}

// drafted is what has become of a draft.
type drafted int

const (
	// draftEmpty: nothing can be fixed now, and no owner is to be told anything.
	draftEmpty drafted = iota
	// draftTells: nothing can be fixed, but owners are to be told of their objects.
	draftTells
	// draftWithoutCanary: no object can lead the rollout.
	draftWithoutCanary
	// draftRollout: the plan can be rolled out as it stands.
	draftRollout
)

// compose chooses what a draft holds, and puts it in the order of the rollout.
// refused says why there is no canary, where a person can do something about it.
func (p *drafter) compose(ctx context.Context, d *draft, found []policy.Finding) (outcome drafted, refused string,
	err error) {
	earlier, err := p.readPast(ctx, *d)
	if err != nil {
		return draftEmpty, "", err
	}
	if d.stages, err = canary.ReadStages(&d.strategy); err != nil {
		return draftEmpty, "", fmt.Errorf("the strategy of policy %s: %w", d.policy.Name, err)
	}
	d.leaveOut(p.clock.Now(), found)
	if d.told, err = p.toldBefore(ctx, d); err != nil {
		return draftEmpty, "", err
	}
	if err := p.choose(ctx, d, found, earlier); err != nil {
		return draftEmpty, "", err
	}
	d.limit(&p.floors)
	d.hash = planHash(*d)
	if len(d.eligible) == 0 {
		if d.untold() {
			return draftTells, "", nil
		}
		return draftEmpty, "", nil
	}
	d.order()
	ready, refused, err := p.chooseCanary(ctx, d)
	if err != nil || !ready {
		return draftWithoutCanary, refused, err
	}
	return draftRollout, "", nil
}
