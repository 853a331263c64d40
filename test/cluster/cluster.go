// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"evenkeel.dev/evenkeel/test/process"
)

// Cluster is a control plane in processes of its own: etcd, the API server, its
// controllers, and fake nodes. It ends with the test's process, however that ends.
type Cluster struct {
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string `json:"kubeconfig"`
	// KubectlPath is a kubectl of the server's version.
	KubectlPath string `json:"kubectl"`
	// Server is the URL of the API server.
	Server string `json:"server"`
	// WebhookClientCA is the path of the authority of the certificate that the API
	// server shows to webhooks: apiserver.crt, with its key, beside it.
	WebhookClientCA string `json:"webhookClientCA"`

	config *rest.Config
	// command is the program that runs control planes.
	command string
	stdin   io.Closer
	cmd     *exec.Cmd
	output  *bytes.Buffer
}

// Start builds the command that runs control planes, starts one and waits until
// it is ready. dir takes the built command.
func Start(ctx context.Context, dir string) (*Cluster, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	command, err := process.BuildProgram(ctx,
		process.Program{Root: root, Module: "hack/controlplane", Package: "./cmd/controlplane"}, dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{command: command, cmd: exec.Command(command, "run"), output: &bytes.Buffer{}}
	c.cmd.Dir, c.cmd.Stderr = root, c.output
	// An interrupt of the terminal goes to the tests, which then stop it in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start() error {
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	c.stdin = stdin
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the control plane ended before it was ready: %w\n%s", err, c.output)
	}
	if err := json.Unmarshal(line, c); err != nil {
		return fmt.Errorf("read %q: %w", line, err)
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	// A suite is one user, whom the limits of a client would only slow down.
	c.config.QPS, c.config.Burst = 1000, 1000
	return nil
}

// Stop ends the control plane and removes its data.
func (c *Cluster) Stop() error {
	if c == nil || c.stdin == nil {
		return nil
	}
	if err := c.stdin.Close(); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("stop the control plane: %w\n%s", err, c.output)
	}
	return nil
}

// Component stops, starts or restarts (the verb) one component, for example
// "kube-apiserver", with its data and port kept, and waits until it is done.
func (c *Cluster) Component(ctx context.Context, verb, component string) error {
	cmd := exec.CommandContext(ctx, c.command, verb, component, "--dir", filepath.Dir(c.Kubeconfig))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", verb, component, err, out)
	}
	return nil
}

// Config is an administrator's configuration of a client; it is a copy.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Root is the folder of the repository.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "hack", "controlplane", "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s isn't within the repository: run the tests in a checkout", dir)
		}
	}
}
