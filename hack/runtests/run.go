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
	// packages are tested in the place of all, where a step tests all but some.
	packages []string
	// names is the file that takes the names of what ran; empty: none does.
	names string
	out   io.Writer
	// live says that somebody watches: commands show their output as it comes.
	live  bool
	now   func() time.Time
	began time.Time
	// reports is the folder for what suites say of their specs.
	reports string

	// disk tells how much space is left; nil: nobody asks.
	disk disk

	// printing keeps lines whole, of a stage and of what tells that it still runs.
	printing sync.Mutex
}

// outcome is what came of a step, or of a stage.
type outcome struct {
	counts
	failures []failure
	timings  []timing
	// names are those of the tests and specs that ran, with their packages.
	names []string
	// processors is the time that commands took of them, with all that they have started
	// and waited for. Of two processors, twice the time of a stage is all that there is:
	// one that took far less has waited.
	processors time.Duration
}

func (o *outcome) join(other outcome) {
	o.add(other.counts)
	o.failures = append(o.failures, other.failures...)
	o.timings = append(o.timings, other.timings...)
	o.names = append(o.names, other.names...)
	o.processors += other.processors
}

// took notes what a command that has ended took of the processors.
func (o *outcome) took(ended *os.ProcessState) {
	if ended != nil {
		o.processors += ended.UserTime() + ended.SystemTime()
	}
}

// stageResult is one finished stage.
type stageResult struct {
	outcome
	name    string
	elapsed time.Duration
	// vital says that nothing can run after it if it failed.
	vital bool
}

// run runs the stages, those of a group at once, and prints the summary. It returns
// whether all passed.
func (r *runner) run(ctx context.Context, chosen []stage) bool {
	var results []stageResult
	for _, group := range groups(chosen) {
		if err := r.checkDisk(); err != nil {
			results = append(results, r.refused(group[0], err))
			break
		}
		ended := r.runGroup(ctx, group, len(results), len(chosen))
		results = append(results, ended...)
		if ctx.Err() != nil {
			r.say("Stopped. The stages after %s didn't run.", ended[len(ended)-1].name)
			break
		}
		vital := func(result stageResult) bool { return result.vital && result.failed > 0 }
		if i := slices.IndexFunc(ended, vital); i >= 0 {
			r.say("Nothing further can run without %s.", ended[i].name)
			break
		}
	}
	listed := r.list(results)
	return r.summarize(results, len(chosen)) && listed
}

// refused is a stage that wasn't begun, which has failed.
func (r *runner) refused(s stage, why error) stageResult {
	f := failure{test: s.name, about: "not begun", message: bounded(why.Error())}
	r.say("%s", f.text())
	return stageResult{name: s.name, outcome: outcome{counts: counts{failed: 1}, failures: []failure{f}}}
}

// list writes the names of what ran to the file that asks for them, and says whether that went well.
func (r *runner) list(results []stageResult) bool {
	if r.names == "" {
		return true
	}
	var names []string
	for _, result := range results {
		names = append(names, result.names...)
	}
	err := writeNames(r.names, names)
	if err != nil {
		r.say("%v", err)
	}
	return err == nil
}

// runGroup runs stages at once and returns what came of each, in their order.
func (r *runner) runGroup(ctx context.Context, group []stage, before, planned int) []stageResult {
	results := make([]stageResult, len(group))
	var running sync.WaitGroup
	for i, s := range group {
		s.alone = len(group) == 1
		r.say("==> [%d/%d] %s: %s (%s since the start)", before+i+1, planned, s.name, s.about, r.since(r.began))
		running.Go(func() {
			start := r.now()
			result := stageResult{name: s.name, vital: s.vital, outcome: r.runStage(ctx, s)}
			result.elapsed = r.now().Sub(start)
			results[i] = result
			r.say("    %s: %d passed, %d failed in %s, with %s of processors", s.name, result.passed, result.failed,
				round(result.elapsed), round(result.processors))
		})
	}
	running.Wait()
	return results
}

func (r *runner) runStage(ctx context.Context, s stage) outcome {
	results := make([]outcome, len(s.steps))
	var running sync.WaitGroup
	for i, step := range s.steps {
		run := func() { results[i] = r.finishStep(ctx, s, step) }
		if s.together {
			running.Go(run)
			continue
		}
		run()
	}
	running.Wait()
	var total outcome
	for _, result := range results {
		total.join(result)
	}
	proves := slices.ContainsFunc(s.steps, func(s step) bool { return !s.uncounted })
	if proves && total.counts == (counts{}) {
		f := failure{test: s.name, about: "no test ran: the stage proves nothing"}
		r.say("%s", f.text())
		total.failed, total.failures = 1, append(total.failures, f)
	}
	return total
}

// finishStep runs a step; one that couldn't be run to its end has failed.
func (r *runner) finishStep(ctx context.Context, of stage, s step) outcome {
	got, err := r.runStep(ctx, of, s)
	if err != nil {
		f := failure{test: s.name(), about: "it couldn't be run to its end", message: bounded(err.Error())}
		r.say("%s", f.text())
		got.failures = append(got.failures, f)
		got.failed = max(got.failed, 1)
	}
	return got
}

func (r *runner) runStep(ctx context.Context, of stage, s step) (outcome, error) {
	if s.command != nil {
		return r.runCommand(ctx, s, r.live && of.alone)
	}
	if s.procs > 1 && len(r.flags) == 0 {
		return r.runSuite(ctx, of.name, s)
	}
	args := append([]string{"test", "-json"}, r.flags...)
	if s.procs > 1 {
		args = append(args, "-count=1")
	}
	args = append(args, s.test...)
	if s.skip != nil {
		packages, err := r.packagesOf(ctx, s)
		if err != nil {
			return outcome{}, err
		}
		args = append(args, packages...)
	}
	return r.runGoTest(ctx, of.name, s.dir, append([]string{"go"}, args...))
}

// command prepares a command that is asked to stop, and only then killed, when
// ctx ends.
func (r *runner) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(r.root, dir)
	cmd.Env = append(os.Environ(), "KEEP=", reportsVariable+"="+r.reports,
		"GOFLAGS="+linking(os.Getenv("GOFLAGS")))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = graceful
	return cmd
}

// linking adds to GOFLAGS that programs are linked without what only debuggers read, unless it
// says itself how to link: writing it takes longer than all the rest.
func linking(goflags string) string {
	if strings.Contains(goflags, "-ldflags") {
		return goflags
	}
	return strings.TrimSpace(goflags + " -ldflags=-w")
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
