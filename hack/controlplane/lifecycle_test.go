// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/evenkeel/hack/controlplane"
)

func TestSecondUpChangesNothing(t *testing.T) {
	shared := tests.instance("shared")
	before := mustRunning(t, shared)
	out := must(t, "up", "--dir", shared)
	if !strings.Contains(out, "already running") {
		t.Errorf("up: got %q, want it to say that the instance is already running", out)
	}
	after := mustRunning(t, shared)
	if len(before) != len(controlplane.Components()) || len(after) != len(before) {
		t.Fatalf("processes: %v before, %v after", before, after)
	}
	for n := range before {
		if before[n] != after[n] {
			t.Errorf("%v was replaced by %v", before[n], after[n])
		}
	}
}

func TestTwoInstancesLiveSideBySide(t *testing.T) {
	second := upFor(t, "second")
	shared := tests.instance("shared")
	kubectl(t, second, "", "create", "namespace", "only-in-second")
	if got := kubectl(t, shared, "", "get", "namespace", "only-in-second", "--ignore-not-found"); got != "" {
		t.Errorf("the first instance has the second one's namespace: %s", got)
	}
	must(t, "down", "--dir", second)
	if _, err := os.Stat(second); !os.IsNotExist(err) {
		t.Errorf("down left %s: %v", second, err)
	}
	if left := mustRunning(t, second); len(left) > 0 {
		t.Errorf("down left %v", left)
	}
	if status, code := statusOf(t, shared); code != 0 || !status.Ready {
		t.Errorf("the first instance suffered: exit code %d, %+v", code, status)
	}
	if out := must(t, "down", "--dir", second); !strings.Contains(out, "No control plane") {
		t.Errorf("down of nothing: got %q", out)
	}
}

func TestUpAfterACrash(t *testing.T) {
	dir := upFor(t, "crashed")
	for _, p := range mustRunning(t, dir) {
		if p.Name == string(controlplane.Etcd) || p.Name == string(controlplane.APIServer) {
			if err := p.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if status, code := statusOf(t, dir); code != 1 || status.Ready {
		t.Errorf("status after the crash: exit code %d, %+v", code, status)
	}
	must(t, "up", "--dir", dir, "--nodes", "1")
	if got := mustRunning(t, dir); len(got) != len(controlplane.Components()) {
		t.Errorf("running after the second up: %v", got)
	}
	kubectl(t, dir, "", "run", "pod", "--image=example.test/app:1")
	kubectl(t, dir, "", "wait", "--timeout=20s", "--for=condition=Ready", "pod/pod")
}

func TestComponentComesBackWithItsPortAndData(t *testing.T) {
	dir := upFor(t, "faults")
	before, _ := statusOf(t, dir)
	kubectl(t, dir, "", "create", "configmap", "kept")
	for _, c := range []controlplane.Component{controlplane.Etcd, controlplane.APIServer} {
		must(t, "stop", string(c), "--dir", dir, "--signal", "KILL")
		if status, code := statusOf(t, dir); code != 1 || status.Ready {
			t.Errorf("%s stopped: exit code %d, %+v", c, code, status)
		}
		must(t, "start", string(c), "--dir", dir)
	}
	must(t, "restart", "kwok", "--dir", dir)
	kubectl(t, dir, "", "get", "configmap", "kept")
	kubectl(t, dir, "", "run", "pod", "--image=example.test/app:1")
	kubectl(t, dir, "", "wait", "--timeout=20s", "--for=condition=Ready", "pod/pod")
	after, code := statusOf(t, dir)
	if code != 0 || after.Server != before.Server {
		t.Errorf("after the faults: exit code %d, server %s, want 0 and %s", code, after.Server, before.Server)
	}
}

func TestBadInput(t *testing.T) {
	foreign := t.TempDir()
	precious := filepath.Join(foreign, "precious")
	if err := os.WriteFile(precious, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"up refuses a folder with other files": {"it must not delete them", []string{"up", "--dir", foreign},
			"choose another with --dir"},
		"down refuses a folder with other files": {"it must not delete them", []string{"down", "--dir", foreign},
			"choose another with --dir"},
		"an unknown component is named": {
			"the user needs the right names", []string{"stop", "kubelet", "--dir", foreign},
			"use one of etcd, kube-apiserver"},
		"an unknown signal is named": {
			"only two make sense", []string{"stop", "etcd", "--dir", tests.instance("shared"), "--signal", "HUP"},
			"use TERM or KILL"},
		"a name can't leave the folder": {"it becomes part of a path", []string{"up", "--name", "../x"},
			"lower-case letters"},
		"no nodes are too few": {
			"pods would never run", []string{"up", "--dir", foreign, "--nodes", "0"}, "from 1 to 1000"},
		"status of nothing says how to start": {
			"the next step should be clear", []string{"status", "--dir", foreign}, "controlplane up"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := invoke(t, tc.args...)
			if code != 1 || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, stderr %q; want 1 and %q: %s", code, stderr, tc.want, tc.reason)
			}
			if text, err := os.ReadFile(precious); err != nil || string(text) != "mine" {
				t.Errorf("the other file is gone: %v", err)
			}
		})
	}
}

func TestKWOKThatRacesInItsStartIsStartedAgain(t *testing.T) {
	dir := upFor(t, "race")
	i, err := controlplane.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	programs := filepath.Dir(i.Kubectl())
	bin := t.TempDir()
	script := "#!/bin/sh\nif ! test -e " + bin + "/raced; then touch " + bin + "/raced\n" +
		"echo 'fatal error: concurrent map writes' >&2; exit 2; fi\nexec " + programs + "/kwok \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "kwok"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(dir, "instance.json")
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, []byte(strings.ReplaceAll(string(text), programs, bin)), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "restart", "kwok", "--dir", dir)
	if _, err := os.Stat(filepath.Join(bin, "raced")); err != nil {
		t.Errorf("the program of the test wasn't started: %v", err)
	}
}
