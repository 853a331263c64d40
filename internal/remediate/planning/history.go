// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"errors"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// forget deletes the breaker of a policy that is gone, once no plan of it is at
// work any more.
func (p *Planner) forget(ctx context.Context, policyName string) error {
	p.announced.forget(policyName)
	plans, err := p.plansOf(ctx, policyName)
	if err != nil {
		return err
	}
	for _, rem := range plans {
		if !rem.Status.Phase.Final() {
			return nil // its end is a change
		}
	}
	cb := &v1alpha1.RemediationBreaker{}
	if err := p.client.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyBreakerPrefix + policyName}, cb); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !circuit.AtRest(cb, p.clock.Now()) {
		return nil // it outlives the policy, or deleting that would close it
	}
	return client.IgnoreNotFound(p.client.Delete(ctx, cb))
}

// plansOf reads a policy's plans anew, oldest first.
func (p *drafter) plansOf(ctx context.Context, policyName string) ([]v1alpha1.Remediation, error) {
	list := &v1alpha1.RemediationList{}
	if err := p.reader.List(ctx, list, client.MatchingLabels{v1alpha1.LabelPolicy: policyName}); err != nil {
		return nil, fmt.Errorf("list the plans of policy %s: %w", policyName, err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Remediation) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		// Within a second, one that is at work is the latest.
		if fa, fb := a.Status.Phase.Final(), b.Status.Phase.Final(); fa != fb {
			if fa {
				return -1
			}
			return 1
		}
		return a.EndTime().Compare(b.EndTime())
	})
	return list.Items, nil
}

// point keeps the policy's pointer at its latest plan.
func (p *Planner) point(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation) error {
	if len(plans) == 0 {
		return nil
	}
	latest := plans[len(plans)-1]
	demoted, err := p.breakers.Demoted(ctx, pol.Name)
	if err != nil {
		return err
	}
	pointer := v1alpha1.RemediationPointer{Name: latest.Name, Phase: latest.Phase(), Demoted: demoted != nil}
	if now := pol.Status.Remediation; now != nil && *now == pointer {
		return nil
	}
	patch := fmt.Sprintf(`{"status":{"remediation":{"name":%q,"phase":%q,"demoted":%t}}}`, pointer.Name, pointer.Phase,
		pointer.Demoted)
	err = p.client.Status().Patch(ctx, pol.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)),
		client.FieldOwner(v1alpha1.FieldManager))
	return client.IgnoreNotFound(err)
}

// sweep deletes slices whose plan was never created, because of a crash between.
func (p *Planner) sweep(ctx context.Context, d draft) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("RemediationSliceList"))
	if err := p.reader.List(ctx, list, client.MatchingLabels{v1alpha1.LabelPolicy: d.policy.Name}); err != nil {
		return fmt.Errorf("list the slices of policy %s: %w", d.policy.Name, err)
	}
	for i := range list.Items {
		slice := &list.Items[i]
		if slices.ContainsFunc(d.plans, func(rem v1alpha1.Remediation) bool {
			return rem.Name == slice.Labels[v1alpha1.LabelRemediation]
		}) {
			continue
		}
		if metav1.GetControllerOf(slice) != nil {
			continue // its plan is being deleted, and takes it along
		}
		if err := p.client.Delete(ctx, slice); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the orphan slice %s: %w", slice.Name, err)
		}
	}
	return nil
}

// tooEarly says whether an earlier plan is in the way of another one, and when to
// look again: zero when a change will say so.
func (p *Planner) tooEarly(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation,
	revision string, found []policy.Finding) (wait time.Duration, early bool) {
	var ended time.Time
	for i := range plans {
		if !plans[i].Rests() {
			return 0, true // its end is a change
		}
		if end := plans[i].EndTime(); end.After(ended) {
			ended = end
		}
	}
	// An end of the future was written under another clock: it is no later than now.
	since := max(p.clock.Now().Sub(ended), 0)
	if since < p.delay {
		return p.delay - since, true
	}
	stand := history.StandingOf(pol, plans, revision, p.clock.Now())
	if wait := stand.NextAfter(found, p.clock.Now()) - since; wait > 0 {
		latest := plans[len(plans)-1]
		p.notPlanned(ctx, pol, fmt.Sprintf("plan %s ended without an answer, which says nothing of the fix: another "+
			"is made by itself, the sooner with: evenkeel rollout retry %s",
			latest.Name, latest.Name))
		return min(wait, p.interval), true
	}
	if why := history.Blocked(pol, plans, revision, stand, found); why != "" && fixable(found) > 0 {
		p.notPlanned(ctx, pol, why)
		return p.interval, true
	}
	return 0, false
}

// readPast reads what the policy's ended plans tell. A person who says to try
// again (spec.retryToken) makes all up to that plan forgotten.
func (p *drafter) readPast(ctx context.Context, d draft) (*history.Past, error) {
	h := history.New()
	now := p.clock.Now()
	for i := range d.plans {
		rem := &d.plans[i]
		if rem.RetryAsked() {
			h = history.New()
			continue
		}
		failed := rem.Spec.Plan.Policy.Revision == d.revision && rem.Status.Counts.Failed+rem.Status.Counts.Reverted > 0
		fixed := history.Remembered(rem, now) > 0
		if !failed && !fixed && !history.TellsSlowly(rem, now) {
			continue
		}
		b, err := record.Read(ctx, p.reader, rem)
		var incomplete record.IncompleteError
		if errors.As(err, &incomplete) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("what plan %s has done counts for the next: %w", rem.Name, err)
		}
		h.Remember(rem, b, d.revision, now)
	}
	return h, nil
}
