// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"evenkeel.dev/evenkeel/test/process"
)

// TestAProgramIsBuiltOnce has several processes' worth of suites build the same program: it is linked
// once, each gets a copy, and a later build of changed code leaves the copies as they are.
func TestAProgramIsBuiltOnce(t *testing.T) {
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "said", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "said"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("go.mod", "module example.test/said\n\ngo 1.26.0\n")
	write("main.go", "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"first\") }\n")
	says := func(program string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	build := func() string {
		t.Helper()
		copied, err := process.BuildProgram(t.Context(),
			process.Program{Root: root, Module: "said", Package: "."}, t.TempDir())
		if err != nil {
			t.Error(err)
		}
		return copied
	}
	copies := make([]string, 3)
	var building sync.WaitGroup
	for i := range copies {
		building.Go(func() { copies[i] = build() })
	}
	building.Wait()
	shared := linked(t, root)
	for _, program := range copies {
		if got := says(program); got != "first" {
			t.Errorf("%s says %q", program, got)
		}
	}
	build()
	if again := linked(t, root); !os.SameFile(shared, again) {
		t.Error("the same program was linked again")
	}

	write("main.go", "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"second\") }\n")
	if got := says(build()); got != "second" {
		t.Errorf("after a change it says %q", got)
	}
	if got := says(copies[0]); got != "first" {
		t.Errorf("the copy that was made before the change says %q", got)
	}
}

// linked is the program that suites share.
func linked(t *testing.T, root string) os.FileInfo {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "bin", "test", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if filepath.Base(path) == "lock" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	t.Fatal("nothing is shared")
	return nil
}
