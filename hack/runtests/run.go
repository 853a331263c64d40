package main

import (
	"bytes"
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

const (
	heartbeat = 20 * time.Second
	// graceful is how long a stopped command may take to clean up.
	graceful = 30 * time.Second
)

// runner runs stages and reports on out.
type runner struct {
	root  string
	flags []string
	out   io.Writer
	now   func() time.Time
	began time.Time

	mu sync.Mutex
}

// stageResult is one finished stage.
type stageResult struct {
	name    string
	counts  counts
	elapsed time.Duration
}

// run runs the stages and prints the summary. It returns whether all passed.
func (r *runner) run(ctx context.Context, chosen []stage) bool {
	var results []stageResult
	for i, s := range chosen {
		r.say("==> [%d/%d] %s: %s (%s since the start)", i+1, len(chosen), s.name, s.about, r.since(r.began))
		start := r.now()
		result := stageResult{name: s.name, counts: r.runStage(ctx, s)}
		result.elapsed = r.now().Sub(start)
		results = append(results, result)
		r.say("    %s: %d passed, %d failed in %s", s.name, result.counts.passed, result.counts.failed, round(result.elapsed))
		if ctx.Err() != nil {
			r.say("Stopped. The stages after %s didn't run.", s.name)
			break
		}
		if s.vital && result.counts.failed > 0 {
			r.say("Nothing further can run without %s.", s.name)
			break
		}
	}
	return r.summarize(results, len(chosen))
}

func (r *runner) summarize(results []stageResult, planned int) bool {
	var total counts
	r.say("\n%-14s %7s %7s %8s %9s", "STAGE", "PASSED", "FAILED", "SKIPPED", "TIME")
	for _, result := range results {
		total.add(result.counts)
		r.say("%-14s %7d %7d %8d %9s", result.name, result.counts.passed, result.counts.failed, result.counts.skipped, round(result.elapsed))
	}
	r.say("\nRan %d of %d stages in %s", len(results), planned, r.since(r.began))
	r.say("%d passed, %d failed", total.passed, total.failed)
	return total.failed == 0 && len(results) == planned
}

func (r *runner) runStage(ctx context.Context, s stage) counts {
	var total counts
	counted := false
	for _, step := range s.steps {
		counted = counted || !step.uncounted
		got, err := r.runStep(ctx, step)
		if err != nil {
			r.say("    FAIL %s: %v", step.dir, err)
			if got.failed == 0 {
				got.failed = 1
			}
		}
		total.add(got)
	}
	if counted && total == (counts{}) {
		r.say("    FAIL %s: no test ran: the stage proves nothing", s.name)
		total.failed = 1
	}
	return total
}

func (r *runner) runStep(ctx context.Context, s step) (counts, error) {
	if s.command != nil {
		return r.runCommand(ctx, s)
	}
	args := append([]string{"test", "-json"}, r.flags...)
	args = append(args, s.test...)
	if s.skip != nil {
		packages, err := r.packagesBut(ctx, s)
		if err != nil {
			return counts{}, err
		}
		args = append(args, packages...)
	}
	return r.runGoTest(ctx, s.dir, args)
}

// runCommand runs a command whose output the user sees as it comes.
func (r *runner) runCommand(ctx context.Context, s step) (counts, error) {
	cmd := r.command(ctx, s.dir, s.command[0], s.command[1:]...)
	var seen bytes.Buffer
	cmd.Stdout = io.MultiWriter(r.out, &seen)
	cmd.Stderr = r.out
	if err := cmd.Run(); err != nil {
		got, _ := closingSummary(seen.String())
		return got, fmt.Errorf("%s: %w", strings.Join(s.command, " "), err)
	}
	if s.uncounted {
		return counts{}, nil
	}
	if got, ok := closingSummary(seen.String()); ok {
		return got, nil
	}
	return counts{passed: 1}, nil
}

// command prepares a command that is asked to stop, and only then killed, when
// ctx ends.
func (r *runner) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(r.root, dir)
	cmd.Env = append(os.Environ(), "KEEP=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = graceful
	return cmd
}

// beat says from time to time that a quiet stage still runs. The function that
// it returns ends that.
func (r *runner) beat(state func() string) func() {
	start, done := r.now(), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.mu.Lock()
				now := state()
				r.mu.Unlock()
				r.say("    … %s, %s", now, r.since(start))
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}

func (r *runner) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func (r *runner) since(t time.Time) string { return round(r.now().Sub(t)) }

func round(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
