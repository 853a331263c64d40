// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
)

// runCommand runs a command. Its output is shown as it comes, or only when it fails.
func (r *runner) runCommand(ctx context.Context, s step, show bool) (outcome, error) {
	got, err := r.runShown(ctx, s, show)
	if err == nil && s.uncounted {
		got.counts = counts{}
	}
	return got, err
}

func (r *runner) runShown(ctx context.Context, s step, show bool) (total outcome, err error) {
	cmd := r.command(ctx, s.dir, s.command[0], s.command[1:]...)
	seen := &output{}
	cmd.Stdout, cmd.Stderr = seen, seen
	if show {
		cmd.Stdout, cmd.Stderr = io.MultiWriter(r.out, seen), io.MultiWriter(r.out, seen)
	}
	err = cmd.Run()
	total.took(cmd.ProcessState)
	var said bool
	total.counts, said = closingSummary(seen.String())
	if err != nil {
		return total, fmt.Errorf("%s: %w\n%s", strings.Join(s.command, " "), err, seen.String())
	}
	if !said {
		total.passed = 1
	}
	return total, nil
}

// runSuite runs one suite of specs in several processes, each with a control plane of its
// own, which take the specs in turn.
func (r *runner) runSuite(ctx context.Context, stage string, s step) (outcome, error) {
	pkg := s.test[len(s.test)-1]
	args := append([]string{"tool", "ginkgo", "run", fmt.Sprintf("--procs=%d", s.procs), "--no-color"}, s.test...)
	cmd := r.command(ctx, s.dir, "go", args...)
	seen := &output{}
	cmd.Stdout, cmd.Stderr = seen, seen
	stop := r.beat(stage, func() string { return fmt.Sprintf("%d specs ended", strings.Count(seen.String(), "•")) })
	start := r.now()
	err := cmd.Run()
	stop()
	result := packageResult{name: pkg, failed: err != nil, elapsed: r.now().Sub(start)}
	result.counts, _ = lastGinkgoSummary(seen.String())
	if err != nil {
		result.counts.failed = max(result.counts.failed, 1)
		result.failures = []failure{{test: path.Base(pkg), about: pkg, suite: true, message: bounded(seen.String())}}
	}
	r.report(&result)
	total := result.outcome()
	total.took(cmd.ProcessState)
	return total, nil
}

// report adds to a package's result what its suite has written of its specs, and prints it.
func (r *runner) report(result *packageResult) {
	specs, err := readReport(r.reports, result.name)
	if err != nil {
		r.say("    %v", err)
	}
	result.detail(specs)
	if result.failed {
		for _, f := range result.failures {
			r.say("%s", f.text())
		}
		r.say("    FAIL %s (%d of %d failed, %s)", result.name, result.counts.failed,
			result.counts.failed+result.counts.passed, round(result.elapsed))
		return
	}
	if result.counts != (counts{}) {
		r.say("    ok   %s (%d tests, %s)", result.name, result.counts.passed, round(result.elapsed))
	}
}

// output keeps what a command prints, and may be read meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps what is printed.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
