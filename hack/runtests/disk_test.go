// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNoStageBeginsOnAFullDisk(t *testing.T) {
	var out strings.Builder
	left := uint64(leastFree)
	r := &runner{root: t.TempDir(), out: &out, now: time.Now, began: time.Now(),
		disk: func(string) (uint64, error) { return left, nil }}
	chosen := []stage{
		{name: "first", steps: []step{{command: []string{"true"}}}},
		{name: "second", steps: []step{{command: []string{"touch", "ran"}}}},
	}
	if !r.run(t.Context(), chosen) {
		t.Fatalf("the stages failed although the disk has room:\n%s", &out)
	}
	if err := os.Remove(filepath.Join(r.root, "ran")); err != nil {
		t.Fatal(err)
	}
	left, out = leastFree-1, strings.Builder{}
	if r.run(t.Context(), chosen) {
		t.Error("a run on a full disk passed")
	}
	if _, err := os.Stat(filepath.Join(r.root, "ran")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stage ran on a full disk: %v", err)
	}
	for _, want := range []string{"4.0 GiB of disk are left in " + os.TempDir(), "go clean -cache",
		"0 passed, 1 failed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the run doesn't say %q:\n%s", want, &out)
		}
	}
}

func TestADiskThatCantBeAskedIsSaid(t *testing.T) {
	r := &runner{root: t.TempDir(), out: io.Discard, now: time.Now,
		disk: func(string) (uint64, error) { return 0, errors.New("no such device") }}
	if err := r.checkDisk(); err == nil || !strings.Contains(err.Error(), "no such device") {
		t.Errorf("checkDisk = %v, want why the disk couldn't be asked", err)
	}
}

func TestFree(t *testing.T) {
	dir := t.TempDir()
	here, err := free(dir)
	if err != nil || here == 0 {
		t.Fatalf("free(%s) = %d, %v", dir, here, err)
	}
	if _, err := free(filepath.Join(dir, "not", "there")); err != nil {
		t.Errorf("a folder that isn't there yet has the room of that around it: %v", err)
	}
}
