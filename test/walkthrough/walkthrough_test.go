// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/test/cluster"
)

// pageTime is the longest that a page may take.
const pageTime = 4 * time.Minute

// needsFleet marks a page whose reader has a cluster with Evenkeel already. All such
// pages are followed one after the other, on one cluster.
const needsFleet = "<!-- walkthrough: fleet -->"

func TestEveryPageDoesAsItSays(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	compile(t, root)
	fleet := []Block{{Line: 1, page: "test/walkthrough/testdata/fleet.sh", Mode: Run,
		Text: read(t, root, "test/walkthrough/testdata/fleet.sh")}}
	alone := len(fleet)
	for _, page := range pages(t, root) {
		text := read(t, root, page)
		blocks, _ := Parse(text)
		blocks = slices.DeleteFunc(blocks, func(b Block) bool { return b.Mode == Skip })
		for i := range blocks {
			blocks[i].page = page
		}
		switch {
		case len(blocks) == 0:
		case strings.Contains(text, needsFleet):
			fleet = append(fleet, blocks...)
		default:
			t.Run(page, func(t *testing.T) { walk(t, root, page, blocks) })
		}
	}
	if len(fleet) > alone {
		t.Run("on a cluster with Evenkeel", func(t *testing.T) { walk(t, root, "fleet", fleet) })
	}
}

// compile fills Go's build cache, which the time of a page isn't meant for: where nothing was compiled yet that takes
// minutes.
func compile(t *testing.T, root string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "make", "build")
	build.Dir = copyCheckout(t, root)
	if printed, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, printed)
	}
}

// walk follows the blocks of one page, or of several that share a cluster.
func walk(t *testing.T, root, about string, blocks []Block) {
	checkout := copyCheckout(t, root)
	ctx, cancel := context.WithTimeout(t.Context(), pageTime)
	defer cancel()
	name := "walk-" + strings.TrimSuffix(strings.ToLower(filepath.Base(about)), ".md")
	shell, err := NewShell(ctx, checkout,
		append(os.Environ(), "NAME="+name, "HOME="+t.TempDir(), "NO_COLOR=1", "GIT_CONFIG_NOSYSTEM=1",
			"EVENKEEL_CACHE="+cacheFolder(t), "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"),
			"GOPATH="+goEnv(t, "GOPATH")))
	if err != nil {
		t.Fatal(err)
	}
	defer down(t, checkout, name)
	defer shell.Close()
	for _, block := range blocks {
		began := time.Now()
		printed, err := shell.Do(block)
		if err == nil {
			err = shown(block, printed)
		}
		if err != nil {
			t.Fatalf("%s:%d: %v\n--- commands\n%s\n--- printed\n%s%s", block.page, block.Line, err, block.Text, printed,
				logs(checkout))
		}
		t.Logf("%s:%d: done in %.1fs", block.page, block.Line, time.Since(began).Seconds())
	}
}

// shown says whether the block has printed what the page shows.
func shown(b Block, printed string) error {
	if line, missing := Missing(b.Output, printed); missing {
		return fmt.Errorf("it doesn't print %q", line)
	}
	return nil
}

func read(t *testing.T, root, file string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// pages are the pages of documentation, as paths from the root.
func pages(t *testing.T, root string) []string {
	t.Helper()
	found := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			relative, relErr := filepath.Rel(root, path)
			found, err = append(found, relative), relErr
		}
		return err
	})
	if err != nil || len(found) < 10 {
		t.Fatalf("found the pages %v: %v", found, err)
	}
	return found
}

// copyCheckout copies the files that Git knows, or would add, into a repository
// of their own.
func copyCheckout(t *testing.T, root string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "evenkeel")
	copied := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `
		mkdir -p "$1"
		git ls-files -z --cached --others --exclude-standard |
			while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done |
		  tar --null -T - -cf - | tar -xf - -C "$1"
		git -C "$1" init -q -b main`, "copy", dir)
	copied.Dir = root
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("copy the checkout: %v\n%s", err, out)
	}
	return dir
}

// down removes the control plane that the page has left.
func down(t *testing.T, checkout, name string) {
	stop := exec.Command("make", "down", "NAME="+name)
	stop.Dir = checkout
	if out, err := stop.CombinedOutput(); err != nil {
		t.Errorf("make down: %v\n%s", err, out)
	}
}

// logs are the ends of what the page's background commands have printed.
func logs(checkout string) string {
	var text strings.Builder
	files, _ := filepath.Glob(filepath.Join(checkout, "background-*.log"))
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		lines := strings.Split(string(raw), "\n")
		text.WriteString("--- " + filepath.Base(file) + "\n" + strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
	return text.String()
}

// cacheFolder is where the control plane's programs are kept: a page has a home of
// its own.
func cacheFolder(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("EVENKEEL_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "evenkeel")
}

// goEnv is a setting of the Go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatalf("go env %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}
