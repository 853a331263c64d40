// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const pollEvery = 20 * time.Millisecond

// Process is a running program of an instance.
type Process struct {
	PID  int
	Name string
	dir  string
	// start is when it started, in the kernel's ticks: with the id, it's unique.
	start string
}

// Find lists the running processes whose program has one of the names and
// whose arguments name a path below dir, in order of their ids. Zombies,
// which have no arguments any more, don't count.
func Find(dir string, names ...string) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the running processes: %w: a local control plane needs Linux with /proc", err)
	}
	var found []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		now, _ := readStat(pid)
		if name := owner(pid, dir); slices.Contains(names, name) {
			found = append(found, Process{PID: pid, Name: name, dir: dir, start: now.start})
		}
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found, nil
}

// owner returns the program name of pid if its arguments lie below dir.
func owner(pid int, dir string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(text) == 0 {
		return ""
	}
	args := bytes.Split(text, []byte{0})
	if !bytes.Contains(bytes.Join(args[1:], []byte{0}), []byte(dir+"/")) {
		return ""
	}
	return filepath.Base(string(args[0]))
}

// Alive reports whether the process still runs and is still the same program.
func (p Process) Alive() bool {
	now, found := readStat(p.PID)
	return found && now.start == p.start && owner(p.PID, p.dir) == p.Name
}

// Signal sends sig, unless the id belongs to something else by now. A process
// that is gone is no error.
func (p Process) Signal(sig syscall.Signal) error {
	// The handle pins the process, so that the check below can't be outrun by
	// the kernel giving the id to another one.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("find %s (pid %d): %w", p.Name, p.PID, err)
	}
	defer func() { _ = handle.Release() }()
	if !p.Alive() {
		return nil
	}
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to %s (pid %d): %w", sig, p.Name, p.PID, err)
	}
	return nil
}

// End sends sig to all of them and waits until they are gone; those that
// outlast grace are killed.
func End(ctx context.Context, sig syscall.Signal, grace time.Duration, list ...Process) error {
	for _, p := range list {
		if err := p.Signal(sig); err != nil {
			return err
		}
	}
	soft, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if gone(soft, list) {
		return nil
	}
	for _, p := range list {
		if err := p.Signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	if gone(ctx, list) {
		return nil
	}
	return fmt.Errorf("%s still run after SIGKILL: %w", describe(list), ctx.Err())
}

func gone(ctx context.Context, list []Process) bool {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if !slices.ContainsFunc(list, func(p Process) bool { return !p.ended() }) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func describe(list []Process) string {
	var names []string
	for _, p := range list {
		if !p.ended() {
			names = append(names, fmt.Sprintf("%s (pid %d)", p.Name, p.PID))
		}
	}
	return strings.Join(names, ", ")
}
