package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	readyTimeout = 60 * time.Second
	readyPoll    = 50 * time.Millisecond
	stopTimeout  = 30 * time.Second
)

// Config says how a manager runs.
type Config struct {
	// Binary is the manager's program.
	Binary string
	// Dir takes its kubeconfig, certificates and log.
	Dir string
	// Server is the URL that the manager takes for the API server's.
	Server string
	// Args are further flags.
	Args []string
}

// Manager is a manager that can be started, killed and started again at the same
// ports, one process at a time.
type Manager struct {
	config         Config
	webhook, probe int

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// New chooses free ports and writes the kubeconfig; it starts nothing.
func New(config Config) (*Manager, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	m := &Manager{config: config, webhook: ports[0], probe: ports[1]}
	return m, WriteKubeconfig(m.kubeconfig(), config.Server)
}

func (m *Manager) kubeconfig() string { return filepath.Join(m.config.Dir, "kubeconfig") }

// Log is the path of the log of every process of this manager.
func (m *Manager) Log() string { return filepath.Join(m.config.Dir, "manager.log") }

// Start starts the process and waits until it reports ready.
func (m *Manager) Start(ctx context.Context) error {
	if err := m.Launch(); err != nil {
		return err
	}
	return m.AwaitReady(ctx)
}

// Launch starts the process and returns at once.
func (m *Manager) Launch() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd != nil {
		return errors.New("the manager runs already")
	}
	log, err := os.OpenFile(m.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the manager's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(m.config.Binary, m.args()...)
	cmd.Stdout, cmd.Stderr = log, log
	// The manager dies with the tests, and gets no interrupt of their terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(exited)
	}()
	m.cmd, m.exited = cmd, exited
	return nil
}

func (m *Manager) args() []string {
	return append([]string{
		"manager",
		"--kubeconfig", m.kubeconfig(),
		"--namespace", "evenkeel-system",
		"--webhook-port", strconv.Itoa(m.webhook),
		"--webhook-url", fmt.Sprintf("https://localhost:%d", m.webhook),
		"--cert-dir", filepath.Join(m.config.Dir, "certs"),
		"--health-probe-bind-address", fmt.Sprintf("127.0.0.1:%d", m.probe),
		"--metrics-bind-address", "0",
	}, m.config.Args...)
}

// AwaitReady waits until the process reports ready. It errs when the process ends.
func (m *Manager) AwaitReady(ctx context.Context) error {
	m.mu.Lock()
	exited := m.exited
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for !m.Ready(ctx) {
		select {
		case <-exited:
			return fmt.Errorf("the manager ended before it was ready: see %s", m.Log())
		case <-ctx.Done():
			return fmt.Errorf("the manager isn't ready: %w: see %s", ctx.Err(), m.Log())
		case <-tick.C:
		}
	}
	return nil
}

// Ready says whether the process reports ready now.
func (m *Manager) Ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", m.probe), nil)
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
func (m *Manager) Running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return false
	}
	select {
	case <-m.exited:
		return false
	default:
		return true
	}
}

// Kill ends the process at once, as a power failure would, and returns when it
// is gone. It does nothing when none runs.
func (m *Manager) Kill() error { return m.end(syscall.SIGKILL) }

// Stop asks the process to end, and kills it if it doesn't.
func (m *Manager) Stop() error { return m.end(syscall.SIGTERM) }

func (m *Manager) end(signal syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return nil
	}
	if err := m.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the manager: %w", err)
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	var late error
	select {
	case <-m.exited:
	case <-timeout.C:
		late = fmt.Errorf("the manager didn't end within %s of %s", stopTimeout, signal)
		_ = m.cmd.Process.Kill() // it may end just now
		<-m.exited
	}
	m.cmd = nil
	return late
}

// freePorts returns ports of the loopback that nobody listens on now.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close() // held until all are found, so that they differ
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
