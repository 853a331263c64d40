// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

const (
	liveEvery    = 200 * time.Millisecond
	rolloutLimit = 4 * time.Minute
)

// follow prints a line for each change of a rollout until it ends, and returns its last state.
func (d *demo) follow(ctx context.Context, plan string) (*rollout, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, rolloutLimit)
	defer cancel()
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	began, last := d.now(), ""
	for {
		r, err := d.readRollout(ctx, plan)
		if err != nil {
			return nil, 0, err
		}
		elapsed := d.now().Sub(began)
		status := r.plan.Status
		if change := fmt.Sprint(status.Phase, status.Wave, status.Counts, r.breaker); change != last {
			last = change
			d.show.Say("%s", r.line(elapsed))
		}
		if r.plan.Status.Phase.Final() {
			return r, elapsed, nil
		}
		if err := d.stage.Alive(); err != nil {
			return nil, 0, err
		}
		select {
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("the rollout %s isn't over after %s: it is %s (%s): %w",
				plan, screen.Elapsed(elapsed), r.plan.Status.Phase, r.plan.Status.Message, ctx.Err())
		case <-tick.C:
		}
	}
}

// line is the state of a rollout.
func (r *rollout) line(elapsed time.Duration) string {
	status, phase := r.plan.Status, r.plan.Phase()
	violating := "not scanned yet"
	if r.scan != nil && r.scan.State == v1alpha1.ScanComplete {
		violating = fmt.Sprintf("%d of %d objects violate", r.scan.Violating, r.scan.Scanned)
	} else if r.scan != nil {
		violating = fmt.Sprintf("scan %s", r.scan.State)
	}
	c := status.Counts
	line := fmt.Sprintf("%6s  %-12s %-8s %d pending, %d in flight, %d done, %d skipped, %d failed, %d reverted; %s; "+
		"breaker %s", screen.Elapsed(elapsed), phase, waveName(int(status.Wave)), c.Pending, c.InFlight, c.Done,
		c.Skipped, c.Failed, c.Reverted, violating, cmp.Or(r.breaker, v1alpha1.BreakerClosed))
	if phase.Final() {
		line += "\n      " + status.Message
	}
	return line
}

func waveName(wave int) string {
	if wave == 0 {
		return "canary"
	}
	return fmt.Sprintf("wave %d", wave)
}
