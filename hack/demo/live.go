// SPDX-License-Identifier: Apache-2.0

package main

import (
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

// follow shows a rollout until it ends, and returns its last state. On a
// terminal the view redraws itself; elsewhere it's one line for each change.
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
		v := view{d.show, r, elapsed}
		if d.show.Live() {
			d.show.Draw(v.lines()...)
		} else if key := v.key(); key != last {
			last = key
			d.show.Say("%s", v.line())
		}
		if r.plan.Status.Phase.Final() {
			d.show.Leave()
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

// view is how a rollout looks.
type view struct {
	show    *screen.Screen
	r       *rollout
	elapsed time.Duration
}

// lines are the view for a terminal.
func (v view) lines() []string {
	spec, status := v.r.plan.Spec, v.r.plan.Status
	lines := []string{
		"",
		v.field("Name", v.r.plan.Name),
		v.field("Policy", fmt.Sprintf("%s, %s", spec.Plan.Policy.Name, v.violating())),
		v.field("Phase", v.phase()+v.show.Dim(" for "+screen.Elapsed(v.elapsed)+" in all")),
		v.field("Message", status.Message),
		v.field("Breakers", "policy "+v.breaker(v.r.breaker)+"   global "+v.breaker(v.r.global)),
		v.field("Targets", v.counts()),
		"",
	}
	return append(append(lines, v.waves()...), "")
}

func (v view) field(name, value string) string {
	return "  " + v.show.Dim(fmt.Sprintf("%-10s", name+":")) + value
}

// waves are one line for each wave, with a mark for each target.
func (v view) waves() []string {
	marks := make([]string, len(v.r.plan.Spec.Plan.Waves))
	done := make([]int, len(marks))
	sizes := make([]int, len(marks))
	for _, t := range v.r.targets() {
		if int(t.wave) >= len(marks) {
			continue
		}
		marks[t.wave] += v.mark(t.record.State)
		sizes[t.wave]++
		if t.record.State == v1alpha1.TargetDone {
			done[t.wave]++
		}
	}
	var lines []string
	for wave := range marks {
		pointer := "  "
		if int32(wave) == v.r.plan.Status.Wave && !v.r.plan.Status.Phase.Final() {
			pointer = v.show.Yellow("▸ ")
		}
		lines = append(lines, fmt.Sprintf("  %s%-8s %2d/%-2d %s", pointer, waveName(wave), done[wave], sizes[wave],
			marks[wave]))
	}
	legend := v.show.Dim("             ") + v.mark(v1alpha1.TargetPending) + v.show.Dim(" pending ") +
		v.mark(v1alpha1.TargetApplied) + v.show.Dim(" written ") + v.mark(v1alpha1.TargetVerified) +
		v.show.Dim(" verified ") +
		v.mark(v1alpha1.TargetDone) + v.show.Dim(" done ") + v.mark(v1alpha1.TargetFailed) + v.show.Dim(" failed ") +
		v.mark(v1alpha1.TargetReverted) + v.show.Dim(" reverted")
	return append(lines, legend)
}

func waveName(wave int) string {
	if wave == 0 {
		return "canary"
	}
	return fmt.Sprintf("wave %d", wave)
}

// mark is one target in a bar.
func (v view) mark(state v1alpha1.TargetState) string {
	switch state {
	case v1alpha1.TargetPending:
		return v.show.Dim("·")
	case v1alpha1.TargetIntent:
		return v.show.Yellow("░")
	case v1alpha1.TargetApplied:
		return v.show.Yellow("▒")
	case v1alpha1.TargetVerified:
		return v.show.Green("▓")
	case v1alpha1.TargetDone, v1alpha1.TargetPreviewed:
		return v.show.Green("█")
	case v1alpha1.TargetSkipped:
		return v.show.Dim("-")
	case v1alpha1.TargetReverted:
		return v.show.Yellow("↺")
	case v1alpha1.TargetFailed, v1alpha1.TargetRevertConflict:
		return v.show.Red("✗")
	default:
		return "?"
	}
}

func (v view) phase() string {
	phase := v.r.plan.Phase()
	switch facts := phase.Facts(); {
	case facts.Complete:
		return v.show.Green("✔ " + string(phase))
	case facts.Failing:
		return v.show.Red("✖ " + string(phase))
	case facts.Holds:
		return v.show.Yellow("‖ " + string(phase))
	default:
		return v.show.Yellow("◌ " + string(phase))
	}
}

func (v view) breaker(state v1alpha1.BreakerState) string {
	switch state {
	case "", v1alpha1.BreakerClosed:
		return v.show.Green("✔ Closed")
	case v1alpha1.BreakerOpen:
		return v.show.Red("✖ Open")
	case v1alpha1.BreakerHalfOpen:
		return v.show.Yellow("◐ HalfOpen")
	default:
		return string(state)
	}
}

func (v view) counts() string {
	c := v.r.plan.Status.Counts
	return fmt.Sprintf("%d pending, %d in flight, %d done, %d skipped, %d failed, %d reverted",
		c.Pending, c.InFlight, c.Done, c.Skipped, c.Failed, c.Reverted)
}

func (v view) violating() string {
	if v.r.scan == nil {
		return "not scanned yet"
	}
	if v.r.scan.State != v1alpha1.ScanComplete {
		return fmt.Sprintf("scan %s", v.r.scan.State)
	}
	return fmt.Sprintf("%d of %d objects violate", v.r.scan.Violating, v.r.scan.Scanned)
}

// key changes whenever the plain line is worth printing again.
func (v view) key() string {
	s := v.r.plan.Status
	return fmt.Sprint(s.Phase, s.Wave, s.Counts, v.r.breaker)
}

// line is the view where nothing redraws.
func (v view) line() string {
	s := v.r.plan.Status
	phase := v.r.plan.Phase()
	line := fmt.Sprintf("%6s  %-12s %-8s %s; %s; breaker %s", screen.Elapsed(v.elapsed), phase,
		waveName(int(s.Wave)), v.counts(), v.violating(), v.breaker(v.r.breaker))
	if phase.Final() {
		line += "\n      " + s.Message
	}
	return line
}
