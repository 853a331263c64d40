// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Tool is the path of a program that isn't part of the control plane:
// "prometheus", "promtool", "prometheus-alertmanager", "amtool", "sshd" or "bwrap". It is
// fetched if the cache lacks it.
func (c *Cluster) Tool(ctx context.Context, name string) (string, error) {
	cmd := exec.CommandContext(ctx, c.command, "tools", "-o", "json")
	cmd.Dir = c.cmd.Dir
	return tool(cmd, name)
}

// Tool is Cluster.Tool for a test that runs no control plane.
func Tool(ctx context.Context, name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/controlplane", "tools", "-o", "json")
	cmd.Dir = filepath.Join(root, "hack", "controlplane")
	return tool(cmd, name)
}

func tool(cmd *exec.Cmd, name string) (string, error) {
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("fetch %s: %w\n%s", name, err, errOut.String())
	}
	paths := map[string]string{}
	if err := json.Unmarshal(out.Bytes(), &paths); err != nil {
		return "", fmt.Errorf("read where %s is from %q: %w", name, out.String(), err)
	}
	if paths[name] == "" {
		return "", fmt.Errorf("no program %q is fetched: there are %v", name, paths)
	}
	return paths[name], nil
}
