package config

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// root is the repository, seen from this package.
const root = "../.."

// cluster is a control plane of this test's own.
type cluster struct {
	Kubeconfig string `json:"kubeconfig"`
	Kubectl    string `json:"kubectl"`
}

// startCluster starts a control plane that ends with the test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	cmd := exec.Command("go", "run", "-C", filepath.Join(root, "hack", "controlplane"), "./cmd/controlplane", "run")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // the end of its input stops the control plane
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Errorf("stop the control plane: %v\n%s", err, stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the control plane didn't start: %v\n%s", err, stderr.String())
	}
	c := &cluster{}
	if err := json.Unmarshal(line, c); err != nil {
		t.Fatalf("read %q: %v", line, err)
	}
	return c
}

// kubectl runs kubectl and returns its standard output.
func (c *cluster) kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

func (c *cluster) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// may asks whether the manager's service account has a right.
func (c *cluster) may(t *testing.T, right ...string) bool {
	t.Helper()
	args := append([]string{"auth", "can-i", "--as=system:serviceaccount:evenkeel-system:evenkeel"}, right...)
	out, err := c.kubectl(t.Context(), args...)
	switch strings.TrimSpace(out) {
	case "yes":
		return true
	case "no":
		return false
	}
	t.Fatalf("can-i %v: answer %q, %v", right, out, err)
	return false
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within a minute: %s", what)
		case <-tick.C:
		}
	}
}
