// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl runs kubectl as an administrator. stderr holds warnings as well.
func (c *Cluster) Kubectl(ctx context.Context, stdin string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, c.KubectlPath, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), errOut.String(), err
}

// Install applies kustomizations of config/, given by their folders within it,
// and waits until the kinds that they define are served.
func (c *Cluster) Install(ctx context.Context, folders ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		path := filepath.Join(root, "config", filepath.FromSlash(folder))
		if _, _, err := c.Kubectl(ctx, "", "apply", "--server-side", "--validate=strict", "-k", path); err != nil {
			return err
		}
	}
	_, _, err = c.Kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	return err
}
