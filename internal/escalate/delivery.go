// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// resendFactor is for how many intervals an alert outlives the last time that it
// was sent: one that nobody re-sends isn't believed for ever.
const resendFactor = 4

// peerState is what one peer holds of ours. Its error means that nothing is known.
type peerState struct {
	firing map[string]posted
	err    error
}

func (c *Controller) askPeers(ctx context.Context) []peerState {
	seen := make([]peerState, len(c.peers))
	c.each(func(i int, p *peer) {
		alerts, err := p.firing(ctx, c.options.Cluster)
		seen[i] = peerState{firing: map[string]posted{}, err: err}
		for _, a := range alerts {
			seen[i].firing[key(a.Labels)] = a
		}
	})
	return seen
}

// deliver sends the alerts that fire to every peer, and resolves at each what it
// holds and what is derived no more. A peer that fails stops no other. It gives
// the peers' errors, and the number of peers that took everything.
func (c *Controller) deliver(ctx context.Context, alerts []Alert, seen []peerState, now time.Time) (
	accepted int, err error) {
	var messages []posted
	wanted := map[string]bool{}
	for _, a := range alerts {
		m := message(a, now, now.Add(resendFactor*c.interval))
		messages = append(messages, m)
		wanted[key(m.Labels)] = true
	}
	errs := make([]error, len(c.peers))
	c.each(func(i int, p *peer) {
		errs[i] = seen[i].err
		list := slices.Concat(messages, resolutions(seen[i].firing, wanted, now))
		if len(list) > 0 {
			errs[i] = errors.Join(errs[i], p.post(ctx, list))
		}
		c.metrics.posted(p.name(), errs[i])
	})
	for _, e := range errs {
		if e == nil {
			accepted++
		}
	}
	return accepted, errors.Join(errs...)
}

// each calls do for every peer at once and waits for all.
func (c *Controller) each(do func(i int, p *peer)) {
	var wg sync.WaitGroup
	for i, p := range c.peers {
		wg.Go(func() { do(i, p) })
	}
	wg.Wait()
}

func message(a Alert, now, endsAt time.Time) posted {
	starts := a.StartsAt
	if starts.IsZero() || starts.After(now) {
		starts = now // it goes on; Alertmanager keeps the earlier start
	}
	return posted{Labels: a.labels(), Annotations: a.annotations(), StartsAt: starts.UTC(), EndsAt: endsAt.UTC()}
}

// resolutions end what a peer holds as firing and nobody wants any more.
func resolutions(firing map[string]posted, wanted map[string]bool, now time.Time) []posted {
	var list []posted
	for _, k := range slices.Sorted(maps.Keys(firing)) {
		if wanted[k] {
			continue
		}
		over := firing[k]
		over.EndsAt = now.UTC()
		if over.StartsAt.After(over.EndsAt) {
			over.StartsAt = over.EndsAt
		}
		list = append(list, over)
	}
	return list
}

// labels are the identity, without what is empty.
func (i Identity) labels() map[string]string {
	return nonEmpty(map[string]string{
		"generator": generator, "alertname": i.Name, "severity": i.Severity, "cluster": i.Cluster,
		"namespace": i.Namespace, "policy": i.Policy, "owner": i.Owner, "scope": i.Scope,
	})
}

func (a Alert) annotations() map[string]string {
	return nonEmpty(map[string]string{
		"summary": a.Summary, "description": a.Description, "runbook_url": a.RunbookURL,
		"policy_runbook_url": a.PolicyRunbookURL, "dashboard_url": a.DashboardURL,
	})
}

func nonEmpty(m map[string]string) map[string]string {
	maps.DeleteFunc(m, func(_, value string) bool { return value == "" })
	return m
}

// key identifies an alert by its labels, as Alertmanager does.
func key(labels map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(name + "\x00" + labels[name] + "\x00")
	}
	return b.String()
}
