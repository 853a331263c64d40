// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReferenceIsAlikeOnEveryMachine(t *testing.T) {
	pages := map[string]string{}
	for range 2 {
		t.Setenv("HOME", t.TempDir())
		t.Setenv("TMPDIR", t.TempDir())
		dir := t.TempDir()
		root := newRootCommand()
		root.SetArgs([]string{"docs", dir})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.md"))
		if err != nil || len(files) < 20 {
			t.Fatalf("%d pages: %v", len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(file)
			if before, seen := pages[name]; seen && before != string(text) {
				t.Errorf("%s differs with HOME and TMPDIR", name)
			}
			pages[name] = string(text)
		}
	}
	if page := pages["evenkeel_rollout_undo.md"]; !strings.Contains(page, "evenkeel rollout undo NAME") ||
		!strings.Contains(page, "--dry-run") {
		t.Errorf("the page of rollout undo lacks its usage:\n%s", page)
	}
}

func TestManPages(t *testing.T) {
	dir := t.TempDir()
	root := newRootCommand()
	root.SetArgs([]string{"docs", "--format", "man", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "evenkeel-rollout-undo.1"))
	if err != nil || !strings.Contains(string(page), ".SH EXAMPLE") {
		t.Errorf("the man page of rollout undo: %v\n%s", err, page)
	}
}
