// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

// Cluster is the demo's stage.
type Cluster struct {
	programs Programs
	work     string
	keep     bool
	plane    *controlPlane
	manager  *program
	// monitoring are Prometheus and Alertmanager.
	monitoring []*program
	rest       *rest.Config
}

// Start brings up a control plane. With keep it stays after the demo. The
// cluster isn't nil even with an error: stop it all the same.
func Start(ctx context.Context, p Programs, keep bool) (*Cluster, error) {
	c := &Cluster{programs: p, keep: keep}
	if err := c.makeWork(); err != nil {
		return c, err
	}
	var err error
	if keep {
		c.plane, err = startKept(ctx, p)
	} else {
		c.plane, err = startTied(ctx, p, c.work)
	}
	if err != nil {
		return c, err
	}
	if c.rest, err = clientcmd.BuildConfigFromFlags("", c.plane.kubeconfig); err != nil {
		return c, fmt.Errorf("read %s: %w", c.plane.kubeconfig, err)
	}
	c.rest.QPS = -1 // no limit of its own: the demo looks at the cluster several times a second
	return c, nil
}

// makeWork makes the folder for the demo's own files. A kept one is refused if
// an earlier demo still uses it.
func (c *Cluster) makeWork() error {
	if !c.keep {
		work, err := os.MkdirTemp("", "evenkeel-demo-")
		if err != nil {
			return fmt.Errorf("make a folder for the demo: %w: set TMPDIR to a folder that can be written", err)
		}
		c.work = work
		return nil
	}
	kept := filepath.Join(c.programs.Root, ".local", KeptName)
	if _, err := os.Stat(filepath.Join(kept, "instance.json")); err == nil {
		return fmt.Errorf("%s holds the cluster of an earlier demo: stop it first with `make down NAME=%s`", kept,
			KeptName)
	}
	work := kept + "-files"
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o700)); err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	c.work = work
	return nil
}

// REST is the access of an administrator.
func (c *Cluster) REST() *rest.Config { return c.rest }

// Work is the folder for the demo's own files.
func (c *Cluster) Work() string { return c.work }

// Kubeconfig is the path of an administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.plane.kubeconfig }

// KubectlPath is the path of a kubectl of the server's version.
func (c *Cluster) KubectlPath() string { return c.plane.kubectl }

// ManagerPID is the process of the manager.
func (c *Cluster) ManagerPID() int { return c.manager.cmd.Process.Pid }

// Stop ends everything and removes it.
func (c *Cluster) Stop(show *screen.Screen) error {
	_, err := show.Track("stopping the manager and the control plane", func(func(string)) error {
		return c.stopAll()
	})
	if c.work != "" {
		err = errors.Join(err, os.RemoveAll(c.work))
	}
	return err
}

// StopKeepingLogs ends everything, and keeps what tells why the demo failed:
// the logs, and Evenkeel's objects and events. It returns their folder.
func (c *Cluster) StopKeepingLogs(ctx context.Context, show *screen.Screen) (string, error) {
	logs, err := c.saveEvidence(ctx)
	_, stopped := show.Track("stopping the manager and the control plane", func(func(string)) error {
		return c.stopAll()
	})
	return logs, errors.Join(err, stopped)
}

func (c *Cluster) stopAll() error {
	var errs []error
	if c.manager != nil {
		errs = append(errs, c.manager.end())
	}
	errs = append(errs, c.StopMonitoring())
	if c.plane != nil {
		errs = append(errs, c.plane.stop())
	}
	return errors.Join(errs...)
}

// StopMonitoring ends Prometheus and Alertmanager.
func (c *Cluster) StopMonitoring() error {
	var errs []error
	for _, p := range c.monitoring {
		errs = append(errs, p.end())
	}
	c.monitoring = nil
	return errors.Join(errs...)
}
