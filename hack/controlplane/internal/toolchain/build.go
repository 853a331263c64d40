// SPDX-License-Identifier: Apache-2.0

package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/cache"
	"evenkeel.dev/evenkeel/hack/controlplane/internal/progress"
)

// Build makes every program that the cache lacks and reports whether it had to
// build any. Two builds of the same key wait for one another; an interrupted
// one leaves only a temporary file, which the next one removes.
func (t *Toolchain) Build(ctx context.Context, show *progress.Printer) (bool, error) {
	if len(t.missing()) == 0 {
		return false, nil
	}
	if err := os.MkdirAll(t.bin, 0o755); err != nil {
		return false, fmt.Errorf("make the cache folder: %w: set EVENKEEL_CACHE to a folder that you may write", err)
	}
	unlock, err := cache.Lock(ctx, t.bin+".lock", show)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := removePartial(t.bin); err != nil {
		return false, err
	}
	missing := t.missing()
	for n, p := range missing {
		if err := show.Track(n+1, len(missing), p.name, func() error { return t.build(ctx, p) }); err != nil {
			return true, err
		}
	}
	return len(missing) > 0, nil
}

func (t *Toolchain) build(ctx context.Context, p program) error {
	partial := t.Path(p.name) + ".partial"
	cmd := exec.CommandContext(ctx, "go", buildArgs(p, partial)...)
	cmd.Dir = filepath.Join(t.components, p.component)
	// A workspace or GOFLAGS of the caller must not change what the key names.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GO111MODULE=on")
	cmd.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: interrupted; run the command again to go on", p.name)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("build %s: no `go` in PATH: install Go 1.26 or newer", p.name)
		}
		return fmt.Errorf("build %s in %s: %w\n%s\ncheck the network or GOPROXY if a download failed, and the space "+
			"left on the disk; then run the command again",
			p.name, cmd.Dir, err, strings.TrimSpace(output.String()))
	}
	if err := os.Rename(partial, t.Path(p.name)); err != nil {
		return fmt.Errorf("put %s into the cache: %w", p.name, err)
	}
	return nil
}

func removePartial(bin string) error {
	leftovers, err := filepath.Glob(filepath.Join(bin, "*.partial"))
	if err != nil {
		return fmt.Errorf("look for leftovers of an interrupted build: %w", err)
	}
	for _, path := range leftovers {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove the leftover of an interrupted build: %w", err)
		}
	}
	return nil
}
