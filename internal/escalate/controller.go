// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Controller derives the alerts at each tick and sends them to every peer: at an
// interval, when an alert falls due, and soon after a plan, breaker or policy
// took a turn. It runs on the leader only. What it remembers serves its metrics
// and spares reads; a restart changes no alert.
type Controller struct {
	reader   client.Reader
	peers    []*peer
	options  AlertOptions
	interval time.Duration
	clock    clock.PassiveClock
	metrics  *metrics
	evidence *evidenceReader
	// ongoing are the alerts that fired at the last tick, with when their fault
	// began, and escalated those of them that some peer has taken.
	ongoing   map[Identity]time.Time
	escalated map[Identity]time.Time
}

// Reconcile is one tick. It errs when a peer or the API server failed, and is
// then tried again soon.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	state, err := gather(ctx, c.reader)
	if err != nil {
		return ctrl.Result{}, err // nothing is resolved: what isn't known isn't over
	}
	seen := c.askPeers(ctx)
	now := c.clock.Now()
	alerts := c.derive(ctx, state, seen, now)
	c.metrics.derived(alerts, c.options.Namespace, now)
	accepted, err := c.deliver(ctx, alerts, seen, now)
	c.remember(alerts, seen, accepted > 0)
	if err != nil {
		return ctrl.Result{}, err
	}
	wait := c.interval
	if due := Due(state, now, c.options); !due.IsZero() {
		wait = min(wait, max(due.Sub(now), time.Millisecond))
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// derive gives the alerts that fire at now. One that merely goes on does so if a
// peer holds it, or if it fired at the last tick.
func (c *Controller) derive(ctx context.Context, state State, seen []peerState, now time.Time) []Alert {
	evidence, err := c.evidence.read(ctx, state)
	if err != nil {
		log.FromContext(ctx).Error(err, "alerts go out with less evidence")
	}
	state.Evidence = evidence
	var firing []Alert
	for _, a := range Alerts(state, now, c.options) {
		if _, ongoing := c.ongoing[a.Identity]; a.fires(now) || ongoing || holds(seen, a) {
			firing = append(firing, a)
		}
	}
	return firing
}

// remember notes what fires, and measures what was escalated for the first time:
// no peer held it before this tick, at least one was asked, and one took it.
func (c *Controller) remember(alerts []Alert, seen []peerState, accepted bool) {
	ongoing, escalated := map[Identity]time.Time{}, map[Identity]time.Time{}
	asked := false
	for _, s := range seen {
		asked = asked || s.err == nil
	}
	for _, a := range alerts {
		ongoing[a.Identity] = a.Since
		before, known := c.escalated[a.Identity]
		switch {
		case known && (before.Equal(a.Since) || a.StartsAt.IsZero()):
			escalated[a.Identity] = before
		case accepted:
			escalated[a.Identity] = a.Since
			if asked && !holds(seen, a) && !a.StartsAt.IsZero() {
				c.metrics.escalated(a, c.clock.Now())
			}
		}
	}
	c.ongoing, c.escalated = ongoing, escalated
}

func holds(seen []peerState, a Alert) bool {
	k := key(a.labels())
	for _, s := range seen {
		if _, ok := s.firing[k]; ok {
			return true
		}
	}
	return false
}
