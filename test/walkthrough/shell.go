// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// ended marks the end of a block in the shell's output; its status follows.
const ended = "\x01walkthrough-block-ended "

// Shell is one bash that runs the blocks of a page: what a block exports, and
// where it changes to, holds for those after it.
type Shell struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *bufio.Scanner
	ctx    context.Context
	cancel context.CancelFunc
}

// NewShell starts a shell in dir with the environment env. Ending ctx kills it and
// everything that it has started.
func NewShell(ctx context.Context, dir string, env []string) (*Shell, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile")
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	s := &Shell{cmd: cmd, ctx: ctx, cancel: cancel}
	var err error
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	cmd.Stderr = cmd.Stdout
	s.lines = bufio.NewScanner(out)
	s.lines.Buffer(nil, 16<<20)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	return s, nil
}

// Do runs a block to its end and gives what it printed. The error is the block's:
// it ended as it shouldn't, or not at all.
func (s *Shell) Do(b Block) (string, error) {
	var script string
	switch b.Mode {
	case Run:
		script = "set -euo pipefail\n{\n" + b.Text + "\n} </dev/null\nset +e\nprintf '\\n" + ended + "0\\n'\n"
	case Fails:
		script = "set +e\n{\n" + b.Text + "\n} </dev/null\nprintf '\\n" + ended + "%d\\n' $?\n"
	case Background:
		script = "{\n" + b.Text + "\n} </dev/null >background-" + strconv.Itoa(b.Line) + ".log 2>&1 &\nprintf '\\n" +
			ended + "0\\n'\n"
	default:
		return "", nil
	}
	if _, err := io.WriteString(s.stdin, script); err != nil {
		return "", fmt.Errorf("the shell has ended: %w", err)
	}
	return s.await(b)
}

func (s *Shell) await(b Block) (string, error) {
	var printed strings.Builder
	for s.lines.Scan() {
		status, isEnd := strings.CutPrefix(s.lines.Text(), ended)
		if !isEnd {
			printed.WriteString(s.lines.Text() + "\n")
			continue
		}
		if b.Mode == Fails && status == "0" {
			return printed.String(), fmt.Errorf("it succeeded, but the page says that it is refused")
		}
		return printed.String(), nil
	}
	if s.ctx.Err() != nil {
		return printed.String(), fmt.Errorf("it didn't end in time")
	}
	return printed.String(), fmt.Errorf("it failed")
}

// Close kills the shell with all that it has started.
func (s *Shell) Close() {
	s.cancel()
	_ = s.cmd.Wait() // it was killed
}
