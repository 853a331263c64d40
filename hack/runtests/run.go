// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// graceful is how long a stopped command may take to clean up.
const graceful = 30 * time.Second

// runner runs stages and reports on out.
type runner struct {
	root  string
	flags []string
	out   io.Writer
	// live says that somebody watches: commands show their output as it comes.
	live  bool
	now   func() time.Time
	began time.Time
	// reports is the folder for what suites say of their specs.
	reports string

	// printing keeps lines whole, of a stage and of what tells that it still runs.
	printing sync.Mutex
}

// outcome is what came of a step, or of a stage.
type outcome struct {
	counts
	failures []failure
	timings  []timing
}

func (o *outcome) join(other outcome) {
	o.add(other.counts)
	o.failures = append(o.failures, other.failures...)
	o.timings = append(o.timings, other.timings...)
}

// stageResult is one finished stage.
type stageResult struct {
	outcome
	name    string
	elapsed time.Duration
}

// run runs the stages and prints the summary. It returns whether all passed.
func (r *runner) run(ctx context.Context, chosen []stage) bool {
	var results []stageResult
	for i, s := range chosen {
		r.say("==> [%d/%d] %s: %s (%s since the start)", i+1, len(chosen), s.name, s.about, r.since(r.began))
		start := r.now()
		result := stageResult{name: s.name, outcome: r.runStage(ctx, s)}
		result.elapsed = r.now().Sub(start)
		results = append(results, result)
		r.say("    %s: %d passed, %d failed in %s", s.name, result.passed, result.failed, round(result.elapsed))
		if ctx.Err() != nil {
			r.say("Stopped. The stages after %s didn't run.", s.name)
			break
		}
		if s.vital && result.failed > 0 {
			r.say("Nothing further can run without %s.", s.name)
			break
		}
	}
	return r.summarize(results, len(chosen))
}

func (r *runner) runStage(ctx context.Context, s stage) outcome {
	var total outcome
	counted := false
	for _, step := range s.steps {
		counted = counted || !step.uncounted
		got, err := r.runStep(ctx, s.name, step)
		if err != nil {
			f := failure{test: step.name(), about: "it couldn't be run to its end", message: bounded(err.Error())}
			r.say("%s", f.text())
			got.failures = append(got.failures, f)
			got.failed = max(got.failed, 1)
		}
		total.join(got)
	}
	if counted && total.counts == (counts{}) {
		f := failure{test: s.name, about: "no test ran: the stage proves nothing"}
		r.say("%s", f.text())
		total.failed, total.failures = 1, append(total.failures, f)
	}
	return total
}

func (r *runner) runStep(ctx context.Context, stage string, s step) (outcome, error) {
	if s.command != nil {
		return r.runCommand(ctx, s)
	}
	if s.procs > 1 && len(r.flags) == 0 {
		return r.runSuite(ctx, stage, s)
	}
	args := append([]string{"test", "-json"}, r.flags...)
	if s.procs > 1 {
		args = append(args, "-count=1")
	}
	args = append(args, s.test...)
	if s.skip != nil {
		packages, err := r.packagesBut(ctx, s)
		if err != nil {
			return outcome{}, err
		}
		args = append(args, packages...)
	}
	return r.runGoTest(ctx, stage, s.dir, args)
}

// command prepares a command that is asked to stop, and only then killed, when
// ctx ends.
func (r *runner) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(r.root, dir)
	cmd.Env = append(os.Environ(), "KEEP=", reportsVariable+"="+r.reports)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = graceful
	return cmd
}

func (r *runner) since(t time.Time) string { return round(r.now().Sub(t)) }

func round(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// name is what a step is called when it couldn't be run.
func (s step) name() string {
	if s.command != nil {
		return strings.Join(append([]string{s.dir}, s.command...), " ")
	}
	return fmt.Sprintf("%s: go test %s", s.dir, strings.Join(s.test, " "))
}
