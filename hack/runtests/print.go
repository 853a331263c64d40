// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"sync"
	"time"
)

// How often a quiet stage says that it still runs: to a person, and in a record, of which
// only a part is kept.
const (
	heartbeat       = 20 * time.Second
	heartbeatRecord = 2 * time.Minute
)

func (r *runner) say(format string, args ...any) {
	r.printing.Lock()
	defer r.printing.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

// beat says from time to time that a quiet stage still runs. The function that
// it returns ends that.
func (r *runner) beat(stage string, state func() string) func() {
	start, done := r.now(), make(chan struct{})
	every := heartbeatRecord
	if r.live {
		every = heartbeat
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.say("    … %s: %s, %s", stage, state(), r.since(start))
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}

// summarize prints what took longest, the table of stages, and at the very end why each
// test failed that did.
func (r *runner) summarize(results []stageResult, planned int) bool {
	var total outcome
	for _, result := range results {
		total.join(result.outcome)
		if longest := slowest(result.timings); len(longest) > 0 {
			r.say("\nThe slowest of %s:", result.name)
			for _, t := range longest {
				r.say("%9s  %s", round(t.took), t.name)
			}
		}
	}
	r.say("\n%-14s %7s %7s %8s %9s %11s", "STAGE", "PASSED", "FAILED", "SKIPPED", "TIME", "PROCESSORS")
	for _, result := range results {
		r.say("%-14s %7d %7d %8d %9s %11s", result.name, result.passed, result.failed, result.skipped,
			round(result.elapsed), round(result.processors))
	}
	r.say("\nRan %d of %d stages in %s", len(results), planned, r.since(r.began))
	if len(total.failures) > 0 {
		r.say("\nWhat failed:")
	}
	for _, f := range total.failures {
		r.say("%s", f.text())
	}
	r.say("%d passed, %d failed", total.passed, total.failed)
	return total.failed == 0 && len(results) == planned
}
