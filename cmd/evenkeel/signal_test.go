// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program is the command line as a process of its own.
func program(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	return cmd, &said
}

// TestTheFirstSignalEndsACommand, also one that reads standard input, which nothing else
// would end.
func TestTheFirstSignalEndsACommand(t *testing.T) {
	tests := map[string]struct {
		reason string
		args   []string
		signal syscall.Signal
		code   int
	}{
		"an interrupted check":  {"as a shell has it", []string{"check", "-"}, syscall.SIGINT, 130},
		"a check that is ended": {"as a shell has it", []string{"check", "-"}, syscall.SIGTERM, 143},
		"an interrupted fix":    {"it reads another way", []string{"fix", "-"}, syscall.SIGINT, 130},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cmd, said := program(t, tc.args...)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// What is written is taken once the command reads: a pipe holds less.
			if _, err := io.WriteString(stdin, strings.Repeat("# nothing\n", 200_000)); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != tc.code {
				t.Errorf("%s: code %d, want %d: %s", tc.reason, code, tc.code, said)
			}
			if strings.Contains(said.String(), "evenkeel:") {
				t.Errorf("an interrupt is no error: %s", said)
			}
		})
	}
}

// TestAClosedPipeIsQuiet: the reader has enough, as after head -1.
func TestAClosedPipeIsQuiet(t *testing.T) {
	cmd, said := program(t, "build", library)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(stdout, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() && status.ExitStatus() != 141 {
		t.Errorf("it ended by %v, want SIGPIPE or code 141", err)
	}
	if said.Len() > 0 {
		t.Errorf("it says %q", said)
	}
}

// TestAFullDiskFailsTheCommand, whether the command looks at the errors of its writes or not: whoever reads the
// file later would take the part for the whole.
func TestAFullDiskFailsTheCommand(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]struct {
		reason string
		args   []string
	}{
		"version": {"one write", []string{"version"}},
		"help":    {"cobra prints it", []string{"check", "--help"}},
		"new policy": {"it prints line by line", []string{"new", "policy", "full", "--dir",
			filepath.Join(dir, "security")}},
		"completion": {"cobra makes it", []string{"completion", "bash"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			defer full.Close() //nolint:errcheck // nothing was kept
			cmd, said := program(t, tc.args...)
			cmd.Stdout = full
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != 1 ||
				said.String() != "evenkeel: write /dev/stdout: no space left on device\n" {
				t.Errorf("%s: code %d, message %q; want 1 and what happened", tc.reason, code, said)
			}
		})
	}
}
