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
)

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

func (r *runner) runGoTest(ctx context.Context, dir string, args []string) (counts, error) {
	cmd := r.command(ctx, dir, "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return counts{}, fmt.Errorf("run go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return counts{}, fmt.Errorf("run go test: %w", err)
	}
	t := newTally()
	stop := r.beat(func() string { return fmt.Sprintf("%d tests ended", t.ended) })
	err = r.follow(pipe, t)
	stop()
	if waited := cmd.Wait(); err == nil {
		err = waited
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && t.total.failed > 0 {
		return t.total, nil // said already, test by test
	}
	if err != nil {
		return t.total, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return t.total, nil
}

// follow reads the events of `go test -json` and reports each finished package.
func (r *runner) follow(events io.Reader, t *tally) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			r.observe(line, t)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (r *runner) observe(line []byte, t *tally) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		r.say("    %s", bytes.TrimSpace(line)) // something that a test printed past the events
		return
	}
	r.mu.Lock()
	result, ended := t.observe(e)
	r.mu.Unlock()
	switch {
	case !ended:
	case result.failed:
		r.say("    FAIL %s (%d of %d failed, %s)\n%s", result.name, result.counts.failed,
			result.counts.failed+result.counts.passed, round(result.elapsed), strings.TrimRight(result.log, "\n"))
	case result.counts != counts{}:
		r.say("    ok   %s (%d tests, %s)", result.name, result.counts.passed, round(result.elapsed))
	}
}
