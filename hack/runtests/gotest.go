// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// packagesOf are the packages that are asked for, or all of a step.
func (r *runner) packagesOf(ctx context.Context, s step) ([]string, error) {
	if len(r.packages) > 0 {
		return r.packages, nil
	}
	return r.packagesBut(ctx, s)
}

// packagesBut lists the packages of the module in s.dir that aren't below s.skip.
func (r *runner) packagesBut(ctx context.Context, s step) ([]string, error) {
	cmd := r.command(ctx, s.dir, "go", "list", "-e", "-f", "{{.Dir}}\t{{.ImportPath}}", "./...")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", s.dir, err)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		dir, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		relative, err := filepath.Rel(r.root, dir)
		if err != nil {
			return nil, fmt.Errorf("list the packages of %s: %w", s.dir, err)
		}
		below := func(skip string) bool { return relative == skip || strings.HasPrefix(relative, skip+"/") }
		if !slices.ContainsFunc(s.skip, below) {
			packages = append(packages, path)
		}
	}
	return packages, nil
}

func (r *runner) runGoTest(ctx context.Context, stage, dir string, command []string) (outcome, error) {
	cmd := r.command(ctx, dir, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return outcome{}, fmt.Errorf("run go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return outcome{}, fmt.Errorf("run go test: %w", err)
	}
	var ended atomic.Int64
	stop := r.beat(stage, func() string { return fmt.Sprintf("%d tests ended", ended.Load()) })
	total, err := r.follow(pipe, &ended)
	stop()
	if waited := cmd.Wait(); err == nil {
		err = waited
	}
	total.took(cmd.ProcessState)
	var exit *exec.ExitError
	if errors.As(err, &exit) && total.failed > 0 {
		return total, nil // said already, test by test
	}
	if err != nil {
		return total, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, strings.TrimSpace(stderr.String()))
	}
	return total, nil
}

// follow reads the events of `go test -json` and reports each finished package.
func (r *runner) follow(events io.Reader, ended *atomic.Int64) (outcome, error) {
	var total outcome
	t := newTally()
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			total.join(r.observe(line, t))
			ended.Store(int64(t.ended))
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (r *runner) observe(line []byte, t *tally) outcome {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		r.say("    %s", bytes.TrimSpace(line)) // something that a test printed past the events
		return outcome{}
	}
	result, ended := t.observe(e)
	if !ended {
		return outcome{}
	}
	r.report(&result)
	return result.outcome()
}
