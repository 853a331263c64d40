// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/rollout"
)

const (
	// partnerPatience is how long a plan that leads waits for another's step to end.
	partnerPatience = 2 * time.Second
	// maxPartners bounds the plans that take part in the writes of one that leads.
	maxPartners = 8
)

// partners are the plans that would write some of a plan's objects at this moment, by
// the word of their own machine: their gates are open, their baselines known, and
// nothing of theirs is to be found out first. Until they are left, they take no step
// of their own. Which can't be asked takes no part; it has its turn later.
func (c *Controller) partners(ctx context.Context, lead *execute.Pass, uids map[string]bool) []*execute.Partner {
	list := &v1alpha1.RemediationList{}
	if err := c.reader.List(ctx, list); err != nil {
		return nil
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Remediation) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	var found []*execute.Partner
	for i := range list.Items {
		rem := &list.Items[i]
		if rem.Name == lead.Remediation.Name || len(found) == maxPartners || !c.shares(ctx, rem, uids) {
			continue
		}
		one, err := c.partner(ctx, rem.Name)
		if err != nil {
			log.FromContext(ctx).V(1).Info("another plan takes no part in this write", "plan", rem.Name, "error",
				err.Error())
		}
		if one != nil {
			found = append(found, one)
		}
	}
	return found
}

// shares says whether a plan is applying a wave that has one of the objects to write.
func (c *Controller) shares(ctx context.Context, rem *v1alpha1.Remediation, uids map[string]bool) bool {
	if !rem.Status.Phase.Facts().Writes {
		return false
	}
	b, err := c.records.Read(ctx, rem)
	return err == nil && slices.ContainsFunc(b.Views(), func(t rollout.TargetView) bool {
		return t.Wave == rem.Status.Wave && t.State == v1alpha1.TargetPending && uids[t.Object.UID]
	})
}

// partner takes a plan's turn and asks its machine; nil when it wouldn't write now.
func (c *Controller) partner(ctx context.Context, plan string) (*execute.Partner, error) {
	patience, cancel := context.WithTimeout(ctx, partnerPatience)
	defer cancel()
	leave, err := c.turns.take(patience, plan)
	if err != nil {
		return nil, err
	}
	one, err := c.ask(ctx, plan)
	if one == nil || err != nil {
		leave()
		return nil, err
	}
	before, policyName := one.Pass.Records.Views(), one.Pass.Remediation.Spec.Plan.Policy.Name
	one.Leave = func() {
		c.reportTargets(one.Pass.Remediation, before, one.Pass.Records)
		c.metrics.countFinished(policyName, before, one.Pass.Records)
		leave()
	}
	return one, nil
}

// ask lets a plan's machine decide on what is observed just now, as its own step does.
func (c *Controller) ask(ctx context.Context, plan string) (*execute.Partner, error) {
	rem := &v1alpha1.Remediation{}
	err := c.reader.Get(ctx, client.ObjectKey{Name: plan}, rem)
	if err != nil || !rem.Status.Phase.Facts().Writes {
		return nil, client.IgnoreNotFound(err)
	}
	b, err := c.records.Read(ctx, rem)
	if err != nil {
		return nil, err
	}
	p := c.newPass(rem, b)
	o, err := c.observe(ctx, p, []observer{c.observeMetrics, c.observeGate})
	if err != nil {
		return nil, err
	}
	intent, err := rollout.Step(o)
	if err == nil {
		intent, err = c.executor().permitted(ctx, p, intent)
	}
	if err != nil || !intent.Phase.Facts().Writes || len(intent.Write) == 0 {
		return nil, err
	}
	m := o.Members(o.Status.Wave)
	one := &execute.Partner{Pass: p, Ready: map[string]int{},
		Room: int(o.Spec.Plan.Rollout.MaxInFlight) - len(m.Applied)}
	for _, i := range m.Ready {
		one.Ready[o.Targets[i].Object.UID] = i
	}
	return one, nil
}

// turns lets one step of a plan be taken at a time: the plan's own, or that of another
// plan which leads a write that both take part in. The zero value is ready.
type turns struct {
	mu    sync.Mutex
	plans map[string]*turn
}

type turn struct {
	busy  chan struct{} // holds one element while a step is taken
	users int
}

// take waits for a plan's turn, until the context ends. The turn is given back by
// the function that it returns.
func (t *turns) take(ctx context.Context, plan string) (func(), error) {
	t.mu.Lock()
	one := t.plans[plan]
	if one == nil {
		one = &turn{busy: make(chan struct{}, 1)}
		if t.plans == nil {
			t.plans = map[string]*turn{}
		}
		t.plans[plan] = one
	}
	one.users++
	t.mu.Unlock()
	select {
	case one.busy <- struct{}{}:
		return func() { <-one.busy; t.leave(plan, one) }, nil
	case <-ctx.Done():
		t.leave(plan, one)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(plan string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.plans, plan)
	}
}
