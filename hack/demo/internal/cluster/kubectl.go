// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Kubectl runs kubectl as the administrator in the work folder. The output is
// what it wrote on both streams; a command that ends with an error has ok false
// and the reason in its output.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (output string, ok bool, err error) {
	return c.command(ctx, c.plane.kubectl, args...)
}

// Evenkeel runs Evenkeel's own command in the same way.
func (c *Cluster) Evenkeel(ctx context.Context, args ...string) (output string, ok bool, err error) {
	return c.command(ctx, c.programs.Evenkeel, args...)
}

func (c *Cluster) command(ctx context.Context, path string, args ...string) (output string, ok bool, err error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = c.work
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.plane.kubeconfig)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(text), true, nil
	case errors.As(err, &exit) && ctx.Err() == nil:
		return string(text), false, nil
	default:
		return string(text), false, fmt.Errorf("run %s %s: %w", filepath.Base(path), args[0], err)
	}
}

// must runs kubectl and errs when it fails.
func (c *Cluster) must(ctx context.Context, args ...string) error {
	output, ok, err := c.Kubectl(ctx, args...)
	if err == nil && !ok {
		err = fmt.Errorf("kubectl %v failed: %s", args, output)
	}
	return err
}
