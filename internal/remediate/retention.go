package remediate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// maxKeptPlans bounds the ended plans of a policy that are kept beyond its history
// because the memory of fights needs them.
const maxKeptPlans = 100

// prune deletes the ended plans that are beyond the policy's history, and says
// after how long the next one is; zero when none will be by time alone. While nobody
// knows how long the history is, nothing is deleted: what a plan recorded can't be had again.
func (p *Planner) prune(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation) (time.Duration, error) {
	history, known := p.historyOf(pol)
	if !known {
		return replanPoll, nil
	}
	var kept []string
	for i := range plans {
		if plans[i].RetryAsked() {
			kept = append(kept, plans[i].Name)
		}
	}
	status, _ := p.status.Status(pol.Name) // while it isn't known, any revision may be in force
	if rem := undonePlan(pol, plans, status.Revision); rem != nil {
		kept = append(kept, rem.Name)
	}
	kept = append(kept, setAside(pol, plans, status.Revision, p.clock.Now())...)
	expired, next := beyondHistory(plans, history, kept, p.clock.Now())
	for i := range expired {
		if err := p.client.Delete(ctx, &expired[i]); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("delete the old plan %s: %w", expired[i].Name, err)
		}
	}
	return next, nil
}

// historyOf is how long a policy's plans are kept: as it says itself, or the strategy that
// it refers to. It isn't known before the catalog is complete, and while there is no such
// strategy or it can't be followed: the defaults might keep less.
func (p *Planner) historyOf(pol *v1alpha1.ClusterRegoPolicy) (v1alpha1.HistoryStrategy, bool) {
	if !p.status.Complete() {
		return v1alpha1.HistoryStrategy{}, false
	}
	resolved := pol.DeepCopy()
	if problem := strategy.Resolve(resolved, sharedStrategy(p.status.Snapshot(), pol)); problem != nil {
		return v1alpha1.HistoryStrategy{}, false
	}
	return resolved.Spec.Remediation.History, true
}

// setAside are the plans that keep a namespace out of a revision's next plan. An empty
// revision stands for any.
func setAside(pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation, revision string, now time.Time) []string {
	var names []string
	for i := range plans {
		if rem := &plans[i]; revision == "" && circuit.FailedAlone(rem.Status) != "" {
			names = append(names, rem.Name)
		}
	}
	stand := standingOf(pol, plans, revision, now)
	for _, aside := range stand.Aside {
		names = append(names, stand.plans[aside.End].Name)
	}
	return names
}

// beyondHistory are the plans to delete, of all plans with the oldest first, and
// after how long there will be another; zero means never by time alone. A plan
// goes when there are more than limit ended ones, itself among the oldest, or
// when it ended longer than maxAge ago. These stay: the latest plan; one that is
// at work; those kept: the one that a person has said to retry, which cuts off
// what the planner remembers, the one that a person had undone, which keeps its
// revision from being planned again, and those that keep a namespace out of it; and one whose mendings are still hot (see remembered), unless
// more than maxKeptPlans are kept.
func beyondHistory(plans []v1alpha1.Remediation, h v1alpha1.HistoryStrategy, kept []string, now time.Time) (expired []v1alpha1.Remediation, next time.Duration) {
	place := int32(0) // among the ended plans, the newest first
	for i := len(plans) - 1; i >= 0; i-- {
		rem := plans[i]
		if !rollout.Rests(&rem) || rem.DeletionTimestamp != nil {
			continue
		}
		place++
		if i == len(plans)-1 || slices.Contains(kept, rem.Name) {
			continue
		}
		left := h.MaxAge.Duration - now.Sub(endOf(rem))
		if place > h.Limit || left < 0 {
			left = remembered(&rem, now)
		}
		if left < 0 || place > maxKeptPlans {
			expired = append(expired, rem)
		} else {
			next = sooner(next, max(left, time.Second))
		}
	}
	return expired, next
}

// remembered is for how long an ended plan's mendings still add to the heat of
// objects that somebody may be fighting over; negative when no longer.
func remembered(rem *v1alpha1.Remediation, now time.Time) time.Duration {
	if rem.Status.Counts.Done == 0 || rem.Status.Phase == v1alpha1.PhasePreviewed {
		return -1
	}
	return fightMemory - now.Sub(endOf(*rem))
}
