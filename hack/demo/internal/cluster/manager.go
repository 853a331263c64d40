// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StartManager starts the manager, with further flags, and waits until it's ready.
func (c *Cluster) StartManager(ctx context.Context, admin client.Client, flags ...string) error {
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
	args := []string{
		"manager",
		"--kubeconfig=" + kubeconfig,
		"--namespace=" + Namespace,
		fmt.Sprintf("--webhook-port=%d", ports[0]),
		fmt.Sprintf("--webhook-url=https://localhost:%d", ports[0]),
		"--webhook-client-ca-file=" + filepath.Join(c.plane.dir, "pki", "webhooks", "ca.crt"),
		"--cert-dir=" + certificates,
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]),
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[2]),
		"--metrics-insecure", // on the loopback address only
		"--webhook-host=127.0.0.1",
		"--leader-elect",
		"--scan-status-interval=1s", // the figures are on the screen
	}
	c.manager, err = c.run(ctx, "the manager", c.programs.Evenkeel, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]),
		c.keep, append(args, flags...)...)
	return err
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
