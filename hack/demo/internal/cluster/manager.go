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
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	managerReadyLimit = 45 * time.Second
	managerStopLimit  = 10 * time.Second
)

// manager is the manager's process.
type manager struct {
	cmd   *exec.Cmd
	log   string
	ready string // the URL of its readiness probe
	ended chan struct{}
}

// StartManager starts the manager and waits until it's ready.
func (c *Cluster) StartManager(ctx context.Context, admin client.Client) error {
	kubeconfig, err := c.writeKubeconfig(ctx, admin)
	if err != nil {
		return err
	}
	ports, err := freePorts(c.work, 3)
	if err != nil {
		return err
	}
	certificates := filepath.Join(c.work, "certificates")
	if err := os.MkdirAll(certificates, 0o700); err != nil {
		return fmt.Errorf("make the manager's folder: %w", err)
	}
	m := &manager{
		log:   filepath.Join(c.work, "manager.log"),
		ready: fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]),
		ended: make(chan struct{}),
	}
	m.cmd = exec.Command(c.programs.Evenkeel, "manager",
		"--kubeconfig="+kubeconfig,
		"--namespace="+Namespace,
		fmt.Sprintf("--webhook-port=%d", ports[0]),
		fmt.Sprintf("--webhook-url=https://localhost:%d", ports[0]),
		"--cert-dir="+certificates,
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]),
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[2]),
		"--metrics-insecure", // on the loopback address only
		"--webhook-host=127.0.0.1",
		"--leader-elect",
	)
	if err := m.start(c.keep); err != nil {
		return err
	}
	c.manager = m
	return m.awaitReady(ctx)
}

// start starts the process in a session of its own, so that a Ctrl-C reaches
// only us. Unless it is to stay, the kernel kills it if we are killed.
func (m *manager) start(keep bool) error {
	log, err := os.Create(m.log)
	if err != nil {
		return fmt.Errorf("make the manager's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !keep {
		m.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread ends that forked.
		runtime.LockOSThread()
		err := m.cmd.Start()
		started <- err
		if err == nil {
			_ = m.cmd.Wait() // how it ended is in its log
			close(m.ended)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	return nil
}

func (m *manager) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, managerReadyLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := "no answer yet"
	for {
		select {
		case <-m.ended:
			return fmt.Errorf("the manager ended at once: %s; see %s", m.cmd.ProcessState, m.log)
		case <-ctx.Done():
			return fmt.Errorf("the manager isn't ready: %s (%w); see %s", last, context.Cause(ctx), m.log)
		case <-tick.C:
		}
		code, err := probe(ctx, m.ready)
		switch {
		case err != nil:
			last = err.Error()
		case code == http.StatusOK:
			return nil
		default:
			last = fmt.Sprintf("%s answered %d", m.ready, code)
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

// Running says that the manager was started and hasn't ended.
func (c *Cluster) Running() bool { return c.manager != nil && c.Alive() == nil }

// Alive errs when the manager has ended.
func (c *Cluster) Alive() error {
	select {
	case <-c.manager.ended:
		return fmt.Errorf("the manager has ended: %s; see its log", c.manager.cmd.ProcessState)
	default:
		return nil
	}
}

func (m *manager) end() error {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the manager: %w", err)
	}
	select {
	case <-m.ended:
		return nil
	case <-time.After(managerStopLimit):
		return m.cmd.Process.Kill()
	}
}
