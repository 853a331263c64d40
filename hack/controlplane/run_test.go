// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane"
)

// foreground is a `controlplane run` in progress.
type foreground struct {
	cmd   *exec.Cmd
	stdin io.Closer
	dir   string
}

func runFor(t *testing.T, name string) foreground {
	t.Helper()
	f := foreground{cmd: exec.Command(tests.command, "run", "--nodes", "1", "--dir", tests.instance(name)),
		dir: tests.instance(name)}
	stdin, err := f.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.stdin = stdin
	stdout, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.cmd.Process.Kill() })
	text, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("read the line that says ready: %v", err)
	}
	var line struct{ Kubeconfig, Dir, Kubectl, Server string }
	if err := json.Unmarshal(text, &line); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if line.Dir != f.dir || line.Kubeconfig == "" || line.Kubectl == "" || line.Server == "" {
		t.Fatalf("incomplete line: %s", text)
	}
	kubectl(t, f.dir, "", "get", "--raw", "/readyz")
	return f
}

// waitEmpty waits until no process of dir runs.
func waitEmpty(t *testing.T, dir string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for left := mustRunning(t, dir); len(left) > 0; left = mustRunning(t, dir) {
		select {
		case <-deadline:
			t.Fatalf("still running: %v", left)
		case <-tick.C:
		}
	}
}

func TestRunEndsWithItsStdin(t *testing.T) {
	f := runFor(t, "run-stdin")
	must(t, "restart", string(controlplane.APIServer), "--dir", f.dir, "--signal", "KILL")
	kubectl(t, f.dir, "", "get", "--raw", "/readyz")
	if _, stderr, code := invoke(t, "up", "--dir", f.dir); code == 0 {
		t.Errorf("up took over the folder of a run: %s", stderr)
	}
	if err := f.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("run: %v", err)
	}
	if left := mustRunning(t, f.dir); len(left) > 0 {
		t.Errorf("run left %v", left)
	}
	if _, err := os.Stat(f.dir); !os.IsNotExist(err) {
		t.Errorf("run left its folder: %v", err)
	}
}

func TestKilledRunTakesItsComponentsAlong(t *testing.T) {
	f := runFor(t, "run-killed")
	// This one is started on request of another process, and must die as well.
	must(t, "restart", string(controlplane.Scheduler), "--dir", f.dir)
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitEmpty(t, f.dir)
	_, stderr, code := invoke(t, "start", string(controlplane.Etcd), "--dir", f.dir)
	if code == 0 {
		t.Errorf("a component started without its owner: %s", stderr)
	}
	again := runFor(t, "run-killed")
	must(t, "down", "--dir", again.dir)
	if err := again.cmd.Wait(); err != nil {
		t.Errorf("a run that is brought down: %v", err)
	}
	waitEmpty(t, again.dir)
}
