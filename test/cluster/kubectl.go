// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
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
	return c.AwaitKinds(ctx)
}

// AwaitKinds waits until all kinds that are defined are served. kubectl wait fails at
// once while the conditions of a CustomResourceDefinition are null, as they are at first.
func (c *Cluster) AwaitKinds(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			_, _, last = c.Kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
			return last == nil, nil
		})
	return errors.Join(err, last)
}
