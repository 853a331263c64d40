// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	readyLimit = 45 * time.Second
	endLimit   = 10 * time.Second
)

// program is a process that the demo runs.
type program struct {
	name  string
	cmd   *exec.Cmd
	log   string
	ready string // the URL of its readiness probe
	ended chan struct{}
}

// run starts a program, whose log goes to the work folder, and waits until its
// readiness probe answers. It isn't nil once it was started, whatever came then.
func (c *Cluster) run(ctx context.Context, name, path, ready string, keep bool, args ...string) (*program, error) {
	log := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "the ")), " ", "-") + ".log"
	p := &program{name: name, cmd: exec.Command(path, args...), log: filepath.Join(c.work, log), ready: ready,
		ended: make(chan struct{})}
	if err := p.start(keep); err != nil {
		return nil, err
	}
	return p, p.awaitReady(ctx)
}

// start starts the process in a session of its own, so that a Ctrl-C reaches
// only us. Unless it is to stay, the kernel kills it if we are killed.
func (p *program) start(keep bool) error {
	log, err := os.Create(p.log)
	if err != nil {
		return fmt.Errorf("make the log of %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !keep {
		p.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread ends that forked.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in its log
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

func (p *program) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := "no answer yet"
	for {
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended at once: %s; see %s", p.name, p.cmd.ProcessState, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s isn't ready: %s (%w); see %s", p.name, last, context.Cause(ctx), p.log)
		case <-tick.C:
		}
		code, err := probe(ctx, p.ready)
		switch {
		case err != nil:
			last = err.Error()
		case code == http.StatusOK:
			return nil
		default:
			last = fmt.Sprintf("%s answered %d", p.ready, code)
		}
	}
}

func probe(ctx context.Context, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func (p *program) end() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(endLimit):
		return p.cmd.Process.Kill()
	}
}
