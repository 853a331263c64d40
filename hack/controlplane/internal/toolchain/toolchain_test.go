// SPDX-License-Identifier: Apache-2.0

package toolchain

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/progress"
)

// fakeGo stands in for the compiler: it notes the call and writes the output.
const fakeGo = `#!/bin/sh
echo "$*" >> "$CALLS"
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
case "$out" in *"$BREAK".partial) echo "undefined: frobnicate" >&2; exit 1;; esac
echo program > "$out"
`

// checkout makes a repository with pins, an empty cache and a fake compiler.
func checkout(t *testing.T) (root, calls string) {
	t.Helper()
	root = t.TempDir()
	calls = filepath.Join(t.TempDir(), "calls")
	path := t.TempDir()
	files := map[string]string{
		root + "/go.mod": "module evenkeel.dev/evenkeel\n",
		root +
			"/hack/components/kubernetes/go.mod": "module x\nrequire (\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n",
		root + "/hack/components/kubernetes/go.sum": "one\n",
		root + "/hack/components/etcd/go.mod":       "module x\nrequire go.etcd.io/etcd/server/v3 v3.6.8\n",
		root + "/hack/components/etcd/go.sum":       "",
		root + "/hack/components/kwok/go.mod":       "module x\nrequire sigs.k8s.io/kwok v0.8.0\n",
		root + "/hack/components/kwok/go.sum":       "",
		root + "/hack/controlplane/go.mod":          "module evenkeel.dev/evenkeel/hack/controlplane\n",
	}
	for file, text := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path+"/go", []byte(fakeGo), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path+":/usr/bin:/bin")
	t.Setenv("CALLS", calls)
	t.Setenv("BREAK", "none")
	t.Setenv("EVENKEEL_CACHE", t.TempDir())
	return root, calls
}

func locate(t *testing.T, root string) *Toolchain {
	t.Helper()
	// From inside the nested module, whose go.mod isn't the root's.
	tools, err := Locate(filepath.Join(root, "hack", "controlplane"))
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func quiet() *progress.Printer {
	return progress.New(&bytes.Buffer{}, func() time.Time { return time.Unix(0, 0) })
}

func countCalls(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

func TestLocateReadsThePins(t *testing.T) {
	root, _ := checkout(t)
	want := Versions{Kubernetes: "v1.36.3", Etcd: "v3.6.8", KWOK: "v0.8.0"}
	if got := locate(t, root).Versions; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAChangedSumGetsAnotherFolder(t *testing.T) {
	root, _ := checkout(t)
	before := locate(t, root).Bin()
	if err := os.WriteFile(root+"/hack/components/kubernetes/go.sum", []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if after := locate(t, root).Bin(); after == before {
		t.Errorf("the same folder %s serves two sets of modules", after)
	}
}

func TestTwoBuildsAtOnceCompileEachProgramOnce(t *testing.T) {
	root, calls := checkout(t)
	var group sync.WaitGroup
	for range 2 {
		tools := locate(t, root)
		group.Go(func() {
			if _, err := tools.Build(t.Context(), quiet()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	tools := locate(t, root)
	if got, want := countCalls(t, calls), len(tools.programs); got != want {
		t.Errorf("%d compilations, want %d", got, want)
	}
	if built, err := tools.Build(t.Context(), quiet()); built || err != nil {
		t.Errorf("a complete cache: built %v, error %v", built, err)
	}
}

func TestAFailedBuildShowsTheCompilerAndGoesOnWhereItStopped(t *testing.T) {
	root, calls := checkout(t)
	tools := locate(t, root)
	t.Setenv("BREAK", "kube-scheduler")
	_, err := tools.Build(t.Context(), quiet())
	if err == nil || !strings.Contains(err.Error(), "build kube-scheduler") ||
		!strings.Contains(err.Error(), "undefined: frobnicate") {
		t.Fatalf("got %v, want the program and the compiler's words", err)
	}
	partial := tools.Path("kube-scheduler") + ".partial"
	if err := os.WriteFile(partial, []byte("half"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BREAK", "none")
	if _, err := tools.Build(t.Context(), quiet()); err != nil {
		t.Fatal(err)
	}
	if got, want := countCalls(t, calls), len(tools.programs)+1; got != want {
		t.Errorf("%d compilations, want %d: only what was missing", got, want)
	}
	if _, err := os.Stat(partial); !os.IsNotExist(err) {
		t.Errorf("the half-written program is still there: %v", err)
	}
}

func TestLocateOutsideACloneSaysSo(t *testing.T) {
	if _, err := Locate(t.TempDir()); err == nil || !strings.Contains(err.Error(), "inside a clone") {
		t.Errorf("got %v", err)
	}
}
