// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// program starts a copy of sleep under another name with the given arguments.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sleep)
	cmd.Args = append([]string{name, "60"}, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// shell starts a shell script named name whose arguments are args, and waits
// until it runs.
func shell(t *testing.T, name string, script string, args ...string) *exec.Cmd {
	t.Helper()
	ready, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh")
	cmd.Args = append([]string{name, "-c", script, name}, args...)
	cmd.Stdout = write
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the script didn't say that it runs: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// patient says that it runs and then waits for its input, which never comes.
const patient = `echo; read line`

func TestFind(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "data")
	cases := map[string]struct {
		reason string
		name   string
		arg    string
		want   bool
	}{
		"a component with a path below the folder is found": {"it's the instance's own", "etcd", "--data-dir=" + inside,
			true},
		"another program that names the folder is not": {"somebody may look at a log", "tail", inside, false},
		"a component of a folder with a longer name is not": {
			"it belongs to another instance", "etcd", "--data-dir=" + dir + "-two/data", false},
		"a component of elsewhere is not": {
			"it belongs to somebody else", "etcd", "--data-dir=/elsewhere", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := shell(t, tc.name, patient, tc.arg)
			found, err := Find(dir, "etcd", "kwok")
			if err != nil {
				t.Fatal(err)
			}
			got := len(found) == 1 && found[0].PID == cmd.Process.Pid
			if got != tc.want || (!tc.want && len(found) > 0) {
				t.Errorf("found %v, want it found: %v: %s", found, tc.want, tc.reason)
			}
		})
	}
}

func TestSignalSparesAProcessThatTookOverTheID(t *testing.T) {
	cmd := program(t, "sleep")
	stale := Process{PID: cmd.Process.Pid, Name: "etcd", dir: t.TempDir()}
	if err := stale.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other process was signalled: %v", err)
	}
	if now, found := readStat(cmd.Process.Pid); !found || now.state == "Z" {
		t.Errorf("the other process is dead: %+v", now)
	}
}

func TestEndKillsWhatIgnoresTheFirstSignal(t *testing.T) {
	dir := t.TempDir()
	shell(t, "etcd", "trap '' TERM; "+patient, dir+"/data")
	found, err := Find(dir, "etcd")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := End(ctx, syscall.SIGTERM, 50*time.Millisecond, found...); err != nil {
		t.Fatal(err)
	}
	if left, err := Find(dir, "etcd"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
