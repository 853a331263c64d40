// SPDX-License-Identifier: Apache-2.0

package cluster

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
	"syscall"
	"time"
)

// KeptName is the name of the instance that stays after the demo:
// `make status NAME=demo`, `make down NAME=demo`.
const KeptName = "demo"

const stopLimit = 45 * time.Second

// controlPlane is a running control plane.
type controlPlane struct {
	dir        string
	kubeconfig string
	kubectl    string
	stop       func() error
}

// startTied starts a control plane that ends with this process, however that
// ends: its command reads a pipe that closes then.
func startTied(ctx context.Context, p Programs, work string) (*controlPlane, error) {
	cmd := exec.Command(p.ControlPlane, "run", "--dir", filepath.Join(work, "controlplane"))
	cmd.Dir, cmd.Stderr = p.Root, os.Stderr
	// Of its own group, so that a Ctrl-C reaches only us, who end it in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	c := &controlPlane{stop: func() error { return endTied(cmd, in) }}
	release := context.AfterFunc(ctx, func() { _ = in.Close() }) // ends the wait for a start that isn't wanted any more
	defer release()
	return c, c.readLine(out)
}

// readLine reads the line that `controlplane run` prints when it's ready. The
// program is left to be stopped by the caller if it never does.
func (c *controlPlane) readLine(out io.Reader) error {
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the control plane didn't start: %w; see above", err)
	}
	var ready struct{ Kubeconfig, Dir, Kubectl string }
	if err := json.Unmarshal(line, &ready); err != nil {
		return fmt.Errorf("the control plane said %q: %w", line, err)
	}
	c.dir, c.kubeconfig, c.kubectl = ready.Dir, ready.Kubeconfig, ready.Kubectl
	return nil
}

func endTied(cmd *exec.Cmd, in io.Closer) error {
	_ = in.Close() // closed already after a start cut short
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("stop the control plane: %w", err)
		}
		return nil
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("stop the control plane: it still runs after %s; killed", stopLimit),
			cmd.Process.Kill())
	}
}

// startKept starts a control plane that stays.
func startKept(ctx context.Context, p Programs) (*controlPlane, error) {
	c := &controlPlane{
		dir:  filepath.Join(p.Root, ".local", KeptName),
		stop: func() error { return runQuietly(context.WithoutCancel(ctx), p, "down", "--name", KeptName) },
	}
	c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	if err := runQuietly(ctx, p, "up", "--name", KeptName); err != nil {
		return c, err
	}
	record := filepath.Join(c.dir, "instance.json")
	text, err := os.ReadFile(record)
	if err != nil {
		return c, fmt.Errorf("read the control plane's record: %w", err)
	}
	var instance struct{ Bin string }
	if err := json.Unmarshal(text, &instance); err != nil {
		return c, fmt.Errorf("read %s: %w", record, err)
	}
	c.kubectl = filepath.Join(instance.Bin, "kubectl")
	return c, nil
}

// runQuietly runs the control plane's command; its progress is shown.
func runQuietly(ctx context.Context, p Programs, args ...string) error {
	cmd := exec.CommandContext(ctx, p.ControlPlane, args...)
	cmd.Dir, cmd.Stderr = p.Root, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("controlplane %s: %w; see above", args[0], err)
	}
	return nil
}
