// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestAFileIsReplacedAtOnce: whoever has the old one open reads it to its end, and nothing is left beside it.
func TestAFileIsReplacedAtOnce(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	for name, tc := range map[string]struct {
		reason string
		set    func(dir string) error
		// in is the file that is written in the end, and mode its mode then.
		in   string
		mode fs.FileMode
	}{
		"a file that is there": {"its mode is somebody's will",
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "out"), []byte("old"), 0o640) },
			"out", 0o640},
		"one that isn't": {"as any program makes one", func(string) error { return nil }, "out", 0o644},
		"a link": {"it stays one, and others read by it", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "far"), 0o700),
				os.WriteFile(filepath.Join(dir, "far/real"), []byte("old"), 0o600),
				os.Symlink("far/real", filepath.Join(dir, "out")))
		}, "far/real", 0o600},
		"a link to what isn't there": {"it stays one", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "far"), 0o700),
				os.Symlink("far/real", filepath.Join(dir, "out")))
		}, "far/real", 0o644},
		"a file beside what an ended program has left": {"somebody else may be writing it",
			func(dir string) error { return os.WriteFile(filepath.Join(dir, ".out.evenkeel-0"), nil, 0o600) },
			"out", 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tc.set(dir); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			reader, err := os.Open(filepath.Join(dir, tc.in))
			if err == nil {
				defer reader.Close()
			}
			if err := WriteFile(filepath.Join(dir, "out"), []byte("new")); err != nil {
				t.Fatal(err)
			}
			if reader != nil {
				if text, err := io.ReadAll(reader); err != nil || string(text) != "old" {
					t.Errorf("whoever reads it gets %q, %v", text, err)
				}
			}
			text, err := os.ReadFile(filepath.Join(dir, tc.in))
			if err != nil || string(text) != "new" {
				t.Errorf("it holds %q, %v", text, err)
			}
			info, err := os.Stat(filepath.Join(dir, tc.in))
			if err != nil || info.Mode().Perm() != tc.mode {
				t.Errorf("%s: its mode is %v, %v; want %v", tc.reason, info.Mode(), err, tc.mode)
			}
			after, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range after {
				if entry.Name() != "out" && !slices.ContainsFunc(before, func(e fs.DirEntry) bool {
					return e.Name() == entry.Name()
				}) {
					t.Errorf("%s is left beside it", entry.Name())
				}
			}
			if link, err := os.Lstat(filepath.Join(dir, "out")); err != nil ||
				(link.Mode()&fs.ModeSymlink != 0) != (tc.in != "out") {
				t.Errorf("%s: it is %v, %v", tc.reason, link.Mode(), err)
			}
		})
	}
}

// A pipe, as a shell makes one of >(command), is written to, not replaced.
func TestAPipeIsWrittenTo(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		text, err := os.ReadFile(pipe)
		read <- string(text) + errorText(err)
	}()
	if err := WriteFile(pipe, []byte("policies")); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "policies" {
		t.Errorf("the reader got %q", got)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestADirectoryThatTakesNoFileIsAnError(t *testing.T) {
	if err := WriteFile(filepath.Join(t.TempDir(), "none", "out"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want that there is no such directory", err)
	}
}
