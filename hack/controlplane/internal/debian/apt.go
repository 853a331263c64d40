// SPDX-License-Identifier: Apache-2.0

package debian

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
)

// download gets a package by apt and unpacks it to work/tree. The machine's own
// package lists serve if they know the package and the mirror still has that
// version; else lists are got anew, into work, because the machine's own are
// root's.
func download(ctx context.Context, work, pkg string) error {
	for _, dir := range []string{"deb", "lists/partial", "cache/archives/partial", "tree"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			return fmt.Errorf("make the cache folder: %w", err)
		}
	}
	deb, own := filepath.Join(work, "deb"), aptOwnLists(work)
	if err := run(ctx, deb, "apt-get", "download", aptSandbox, pkg); err != nil {
		if err := run(ctx, deb, "apt-get", append([]string{"update", aptStrict}, own...)...); err != nil {
			return fmt.Errorf("get the list of Debian packages: %w\ncheck the network and /etc/apt/sources.list; then "+
				"run the command again", err)
		}
		if err := run(ctx, deb, "apt-get", append(append([]string{"download"}, own...), pkg)...); err != nil {
			return fmt.Errorf("download the Debian package %s: %w\ncheck the network, and that /etc/apt/sources.list "+
				"names a release that has it; then run the command again", pkg, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(deb, "*.deb"))
	if err != nil {
		return fmt.Errorf("look for the downloaded package: %w", err)
	}
	if len(found) != 1 {
		return fmt.Errorf("download the Debian package %s: apt-get left %d files, want 1: %s", pkg, len(found),
			strings.Join(found, " "))
	}
	return run(ctx, work, "dpkg-deb", "-x", found[0], filepath.Join(work, "tree"))
}

const (
	// aptSandbox lets root's apt write where the user _apt may not.
	aptSandbox = "-oAPT::Sandbox::User="
	// aptStrict makes a list that can't be got an error, not a warning.
	aptStrict = "-oAPT::Update::Error-Mode=any"
)

// aptOwnLists are options that keep all that apt writes below work.
func aptOwnLists(work string) []string {
	return []string{
		aptSandbox,
		"-oDir::State::lists=" + filepath.Join(work, "lists"),
		"-oDir::Cache=" + filepath.Join(work, "cache"),
	}
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: interrupted; run the command again to go on: %w", name, ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("no `%s` in PATH: install it", name)
	default:
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(output.String()))
	}
}
