package debian

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

const (
	// assetsInstalled is where Debian's Alertmanager looks for its templates and
	// its user interface. The path is compiled in, and no flag changes all of it.
	assetsInstalled = "/usr/share/prometheus/alertmanager"
	// assetsRelocated is read in its place: a folder of the working folder. It is
	// exactly as long, so that it takes the other's bytes in the program.
	assetsRelocated = "/proc/self/cwd/alertmanager-assets"
	// assets is that folder in the cache.
	assets = "alertmanager-assets"
	// launcher runs a relocated program in the folder above its own; the paths in
	// its flags must therefore be absolute.
	launcher = "#!/bin/sh\ncd \"$(dirname \"$0\")/..\" && exec \"libexec/$(basename \"$0\")\" \"$@\"\n"
)

// place puts a program of an unpacked package into the cache. One that must find
// its assets is made to find them there, since nothing is installed.
func (t *Tools) place(tree string, p Program) error {
	unpacked := filepath.Join(tree, "usr", "bin", p.Name)
	if !p.Assets {
		return os.Rename(unpacked, t.Path(p.Name))
	}
	program, err := os.ReadFile(unpacked)
	if err != nil {
		return err
	}
	program = bytes.ReplaceAll(program, []byte(assetsInstalled), []byte(assetsRelocated))
	if err := write(filepath.Join(t.dir, "libexec", p.Name), program); err != nil {
		return err
	}
	if err := t.placeAssets(filepath.Join(tree, assetsInstalled)); err != nil {
		return err
	}
	return write(t.Path(p.Name), []byte(launcher))
}

// placeAssets moves the package's folder into the cache. A package that has none
// gets an empty one, which says that it was looked for.
func (t *Tools) placeAssets(unpacked string) error {
	if err := os.RemoveAll(t.assets()); err != nil {
		return fmt.Errorf("replace the assets: %w", err)
	}
	err := os.Rename(unpacked, t.assets())
	if os.IsNotExist(err) {
		return os.MkdirAll(t.assets(), 0o755)
	}
	return err
}

func (t *Tools) assets() string { return filepath.Join(t.dir, assets) }

// write writes a program, whole or not at all.
func write(path string, program []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", program, 0o755); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
