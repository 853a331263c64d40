// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// What gremlins says of a mutant.
const (
	killed     = "KILLED"
	lived      = "LIVED"
	timedOut   = "TIMED OUT"
	notCovered = "NOT COVERED"
	unbuilt    = "NOT VIABLE"
	runnable   = "RUNNABLE"
)

// mutant is one change of the code, and what became of it.
type mutant struct {
	file         string
	Type, Status string
	Line, Column int
}

// mutate has gremlins try all mutants of one package, and says how far it is.
func mutate(ctx context.Context, o options, root, dir string, out io.Writer) ([]mutant, error) {
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the go command: %w", err)
	}
	defer os.RemoveAll(scratch)
	env, err := environment(scratch)
	if err != nil {
		return nil, err
	}
	module := filepath.Join(scratch, "module")
	if err := snapshot(ctx, root, module); err != nil {
		return nil, err
	}
	report := filepath.Join(scratch, "report.json")
	call := func(args ...string) *exec.Cmd {
		// "/" leaves out the packages below: each is one of its own.
		args = append([]string{"unleash", "--exclude-files", "/", "--output", report,
			fmt.Sprintf("--workers=%d", o.workers),
			fmt.Sprintf("--timeout-coefficient=%d", o.timeout)}, args...)
		cmd := exec.CommandContext(ctx, o.gremlins, append(args, "./"+dir)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.Dir, cmd.Env = module, env
		return cmd
	}
	if said, err := call("--dry-run").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("run its tests without a mutant: %w\n%s", err, said)
	}
	planned, err := readReport(report)
	if err != nil {
		return nil, err
	}
	of := 0
	for _, m := range planned {
		if m.Status == runnable {
			of++
		}
	}
	fmt.Fprintf(out, "%s: %d mutants, %d of them covered by its tests\n", dir, len(planned), of)
	if err := follow(ctx, call(), of,
		&progress{out: out, terminal: isTerminal(out), every: 20 * time.Second}); err != nil {
		return nil, err
	}
	return readReport(report)
}

// snapshot copies what belongs to the module, as it is now: gremlins reads files as it
// comes to them, and would mix what changes meanwhile with what it copied itself.
func snapshot(ctx context.Context, root, to string) error {
	files, err := git(ctx, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(files, "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return fmt.Errorf("copy the module: %w", err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("copy the module: %w", err)
		}
		if err := os.WriteFile(path, text, 0o755); err != nil {
			return fmt.Errorf("copy the module: %w", err)
		}
	}
	return nil
}

// environment is gremlins': a stand-in for the go command comes first.
func environment(scratch string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	goCommand, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("find the go command: %w", err)
	}
	bin := filepath.Join(scratch, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder for the go command: %w", err)
	}
	if err := os.Symlink(self, filepath.Join(bin, program)); err != nil {
		return nil, fmt.Errorf("stand in for the go command: %w", err)
	}
	return append(os.Environ(), goVariable+"="+goCommand, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH")),
		nil
}

// follow runs gremlins and tells of each mutant as it ends.
func follow(ctx context.Context, cmd *exec.Cmd, of int, p *progress) error {
	said, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run gremlins: %w", err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run gremlins: %w", err)
	}
	p.begin(of)
	for lines := bufio.NewScanner(said); lines.Scan(); {
		p.tell(strings.TrimSpace(lines.Text()))
	}
	err = cmd.Wait()
	p.end()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case err != nil:
		return fmt.Errorf("run gremlins: %w\n%s", err, stderr.String())
	}
	return nil
}

// readReport reads what gremlins wrote of its mutants.
func readReport(path string) ([]mutant, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("gremlins found nothing to mutate")
	}
	if err != nil {
		return nil, fmt.Errorf("read gremlins' report: %w", err)
	}
	var report struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []mutant
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("read gremlins' report: %w", err)
	}
	var mutants []mutant
	for _, f := range report.Files {
		for _, m := range f.Mutations {
			m.file = f.Name
			mutants = append(mutants, m)
		}
	}
	return mutants, nil
}
