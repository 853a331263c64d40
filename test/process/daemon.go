// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	readyTimeout = 60 * time.Second
	readyPoll    = 50 * time.Millisecond
	stopTimeout  = 30 * time.Second
)

// DaemonConfig says how a program runs.
type DaemonConfig struct {
	// Name tells the program to people.
	Name string
	// Path is the program, Args its flags.
	Path string
	Args []string
	// Env are further variables of its environment, as NAME=VALUE.
	Env []string
	// Log is the file that takes the output of every process of the program.
	Log string
	// ReadyURL answers 200 once the program does its work.
	ReadyURL string
}

// Daemon is a program that can be started, killed and started again at the same
// ports, one process at a time.
type Daemon struct {
	config DaemonConfig

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// NewDaemon starts nothing.
func NewDaemon(config DaemonConfig) *Daemon { return &Daemon{config: config} }

// Log is the path of the log of every process of this program.
func (d *Daemon) Log() string { return d.config.Log }

// Start starts the process and waits until it reports ready.
func (d *Daemon) Start(ctx context.Context) error {
	if err := d.Launch(); err != nil {
		return err
	}
	return d.AwaitReady(ctx)
}

// Launch starts the process and returns at once.
func (d *Daemon) Launch() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd != nil {
		return fmt.Errorf("%s runs already", d.config.Name)
	}
	log, err := os.OpenFile(d.config.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", d.config.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(d.config.Path, d.config.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), d.config.Env...)
	// It dies with the tests, and gets no interrupt of their terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.config.Name, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(exited)
	}()
	d.cmd, d.exited = cmd, exited
	return nil
}

// AwaitReady waits until the process reports ready. It errs when the process ends.
func (d *Daemon) AwaitReady(ctx context.Context) error {
	d.mu.Lock()
	exited := d.exited
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for !d.Ready(ctx) {
		select {
		case <-exited:
			return fmt.Errorf("%s ended before it was ready: see %s, which ends: %s", d.config.Name, d.config.Log,
				d.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s isn't ready: %w: see %s", d.config.Name, ctx.Err(), d.config.Log)
		case <-tick.C:
		}
	}
	return nil
}

// lastWords is the end of the log: a suite that can't start leaves no directory behind.
func (d *Daemon) lastWords() string {
	const most = 2000
	text, err := os.ReadFile(d.config.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// Ready says whether the process reports ready now.
func (d *Daemon) Ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.config.ReadyURL, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// Running says whether the process lives.
func (d *Daemon) Running() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd == nil {
		return false
	}
	select {
	case <-d.exited:
		return false
	default:
		return true
	}
}

// PID is the process's number, or 0 when none runs.
func (d *Daemon) PID() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd == nil {
		return 0
	}
	return d.cmd.Process.Pid
}

// Kill ends the process at once, as a power failure would, and returns when it
// is gone. It does nothing when none runs.
func (d *Daemon) Kill() error { return d.end(syscall.SIGKILL) }

// Stop asks the process to end, and kills it if it doesn't.
func (d *Daemon) Stop() error { return d.end(syscall.SIGTERM) }

func (d *Daemon) end(signal syscall.Signal) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd == nil {
		return nil
	}
	if err := d.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", d.config.Name, err)
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	var late error
	select {
	case <-d.exited:
	case <-timeout.C:
		late = fmt.Errorf("%s didn't end within %s of %s", d.config.Name, stopTimeout, signal)
		_ = d.cmd.Process.Kill() // it may end just now
		<-d.exited
	}
	d.cmd = nil
	return late
}
