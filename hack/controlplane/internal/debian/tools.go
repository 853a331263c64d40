// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/cache"
	"evenkeel.dev/evenkeel/hack/controlplane/internal/progress"
)

const osRelease = "/etc/os-release"

// Program is one program of a Debian package.
type Program struct {
	// Name is how Debian calls it, Upstream how its authors do.
	Name, Upstream string
	// Package is the Debian package that holds it as usr/bin/<Name>, or where Path
	// says.
	Package, Path string
	// Assets says that the program reads files of the package besides itself.
	Assets bool
	// Libraries are packages whose shared libraries it needs, and which a machine
	// that nobody installed it on may lack.
	Libraries []string
}

// Programs lists all programs that are fetched.
func Programs() []Program {
	return []Program{
		{Name: "prometheus", Upstream: "prometheus", Package: "prometheus"},
		{Name: "promtool", Upstream: "promtool", Package: "prometheus"},
		{Name: "prometheus-alertmanager", Upstream: "alertmanager", Package: "prometheus-alertmanager", Assets: true},
		{Name: "amtool", Upstream: "amtool", Package: "prometheus-alertmanager"},
		{
			Name: "sshd", Upstream: "sshd", Package: "openssh-server", Path: "usr/sbin/sshd",
			// The last one lets it know users that the machine doesn't have.
			Libraries: []string{"libwrap0", "libnsl2", "libtirpc3", "libnss-wrapper"},
		},
		{Name: "bwrap", Upstream: "bwrap", Package: "bubblewrap", Libraries: []string{"libcap2"}},
	}
}

// Tools is the folder of the fetched programs.
type Tools struct {
	dir string
}

// Locate works out where the programs belong in the cache. It fetches nothing.
// The folder is named for the release of the machine, because apt offers that
// release's version only, and its programs need that release's C library.
func Locate() (*Tools, error) {
	root, err := cache.Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(osRelease)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("find out the machine's release: %w", err)
	}
	key := fmt.Sprintf("%s-%s_%s", field(text, "ID"), field(text, "VERSION_ID"), runtime.GOARCH)
	return &Tools{dir: filepath.Join(root, "debian", key)}, nil
}

// field is the value of a line of os-release, or "unknown".
func field(release []byte, key string) string {
	match := regexp.MustCompile(`(?m)^` + key + `="?([A-Za-z0-9._-]+)"?$`).FindSubmatch(release)
	if match == nil {
		return "unknown"
	}
	return string(match[1])
}

// Path is where the program of that name lies once it is fetched.
func (t *Tools) Path(name string) string { return filepath.Join(t.dir, "bin", name) }

// Fetch gets every program that the cache lacks, and reports whether any was
// missing. Two fetches wait for one another; an interrupted one leaves only a
// temporary folder, which the next one removes.
func (t *Tools) Fetch(ctx context.Context, show *progress.Printer) (bool, error) {
	if len(t.missing()) == 0 {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Join(t.dir, "bin"), 0o755); err != nil {
		return false, fmt.Errorf("make the cache folder: %w: set EVENKEEL_CACHE to a folder that you may write", err)
	}
	unlock, err := cache.Lock(ctx, t.dir+".lock", show)
	if err != nil {
		return false, err
	}
	defer unlock()
	missing := t.missing()
	for n, name := range missing {
		get := func() error { return t.fetch(ctx, name) }
		if err := show.Track(n+1, len(missing), name, get); err != nil {
			return true, err
		}
	}
	return len(missing) > 0, nil
}

// missing are the packages of which a program is missing.
func (t *Tools) missing() []string {
	var missing []string
	for _, p := range Programs() {
		if t.has(p) {
			continue
		}
		if len(missing) == 0 || missing[len(missing)-1] != p.Package {
			missing = append(missing, p.Package)
		}
	}
	return missing
}

func (t *Tools) has(p Program) bool {
	if info, err := os.Stat(t.Path(p.Name)); err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err := os.Stat(t.assets())
	return !p.Assets || err == nil
}

// fetch gets one package by apt, or, on a machine without apt, takes what stands
// in PATH.
func (t *Tools) fetch(ctx context.Context, pkg string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return t.link(pkg)
	}
	for _, p := range Programs() {
		if p.Package != pkg {
			continue
		}
		for _, library := range p.Libraries {
			if err := t.unpack(ctx, library, t.placeLibraries); err != nil {
				return err
			}
		}
	}
	return t.unpack(ctx, pkg, func(tree string) error { return t.placeAll(tree, pkg) })
}

// unpack gets one package and has what is in it taken over.
func (t *Tools) unpack(ctx context.Context, pkg string, take func(tree string) error) error {
	work := filepath.Join(t.dir, "work")
	if err := os.RemoveAll(work); err != nil {
		return fmt.Errorf("remove the leftover of an interrupted download: %w", err)
	}
	defer os.RemoveAll(work)
	if err := download(ctx, work, pkg); err != nil {
		return err
	}
	return take(filepath.Join(work, "tree"))
}

// placeAll puts the programs of an unpacked package into the cache.
func (t *Tools) placeAll(tree, pkg string) error {
	for _, p := range Programs() {
		if p.Package != pkg {
			continue
		}
		if err := t.place(tree, p); err != nil {
			return fmt.Errorf("put %s into the cache: %w: the package %s of this release doesn't hold it", p.Name, err,
				pkg)
		}
	}
	return nil
}

// link points at programs that somebody has installed.
func (t *Tools) link(pkg string) error {
	for _, p := range Programs() {
		if p.Package != pkg {
			continue
		}
		found, err := lookPath(slices.Compact([]string{p.Name, p.Upstream}))
		if err != nil {
			return err
		}
		if err := os.Symlink(found, t.Path(p.Name)); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("put %s into the cache: %w", p.Name, err)
		}
		if p.Assets { // it is installed, and finds its own
			if err := os.MkdirAll(t.assets(), 0o755); err != nil {
				return fmt.Errorf("put %s into the cache: %w", p.Name, err)
			}
		}
	}
	return nil
}

func lookPath(names []string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("no apt-get on this machine, and no %s in PATH: install it and put it there",
		strings.Join(names, " or "))
}
