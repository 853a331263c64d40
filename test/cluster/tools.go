package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// Tool is the path of a program that isn't part of the control plane:
// "prometheus", "promtool", "prometheus-alertmanager" or "amtool". It is fetched
// if the cache lacks it.
func (c *Cluster) Tool(ctx context.Context, name string) (string, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, c.command, "tools", "-o", "json")
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.cmd.Dir, &out, &errOut
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
