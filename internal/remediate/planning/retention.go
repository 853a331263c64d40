// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/remediate/history"
)

// prune deletes the ended plans that are beyond the policy's history, and says
// after how long the next one is; zero when none will be by time alone. While nobody
// knows how long the history is, nothing is deleted: what a plan recorded can't be had again.
func (p *Planner) prune(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation) (
	time.Duration, error) {
	keeps, known := p.historyOf(pol)
	if !known {
		return p.interval, nil
	}
	var kept []string
	for i := range plans {
		if plans[i].RetryAsked() {
			kept = append(kept, plans[i].Name)
		}
	}
	status, _ := p.status.Status(pol.Name) // while it isn't known, any revision may be in force
	if rem := history.UndonePlan(pol, plans, status.Revision); rem != nil {
		kept = append(kept, rem.Name)
	}
	kept = append(kept, history.SetAside(pol, plans, status.Revision, p.clock.Now())...)
	expired, next := history.BeyondHistory(plans, keeps, kept, p.clock.Now())
	for i := range expired {
		if err := p.client.Delete(ctx, &expired[i]); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("delete the old plan %s: %w", expired[i].Name, err)
		}
	}
	return next, nil
}

// historyOf is how long a policy's plans are kept, as its strategy says. It isn't known before
// the catalog is complete, and while there is no such
// strategy or it can't be followed: the defaults might keep less.
func (p *Planner) historyOf(pol *v1alpha1.ClusterRegoPolicy) (v1alpha1.HistoryStrategy, bool) {
	if !p.status.Complete() {
		return v1alpha1.HistoryStrategy{}, false
	}
	s, problem := strategy.Resolve(pol.DeepCopy(), sharedStrategy(p.status.Snapshot(), pol))
	return s.History, problem == nil
}
