// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	// libraries is the folder of shared libraries in the cache.
	libraries = "lib"
	// linker runs a program with those libraries. One that is told of users in
	// NSS_WRAPPER_PASSWD takes them for the machine's.
	linker = `#!/bin/sh
lib="$(cd "$(dirname "$0")/../lib" && pwd)"
export LD_LIBRARY_PATH="$lib"
[ -z "$NSS_WRAPPER_PASSWD" ] || export LD_PRELOAD="$lib/libnss_wrapper.so"
exec "$lib/../libexec/$(basename "$0")" "$@"
`
)

// place puts a program of an unpacked package into the cache. One that must find
// its assets is made to find them there, since nothing is installed.
func (t *Tools) place(tree string, p Program) error {
	unpacked := filepath.Join(tree, cmp.Or(p.Path, "usr/bin/"+p.Name))
	if len(p.Libraries) > 0 {
		return t.placeLinked(unpacked, p)
	}
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

// placeLinked puts a program with its launcher into the cache; its libraries are
// there already.
func (t *Tools) placeLinked(unpacked string, p Program) error {
	if err := os.MkdirAll(filepath.Join(t.dir, "libexec"), 0o755); err != nil {
		return err
	}
	if err := os.Rename(unpacked, filepath.Join(t.dir, "libexec", p.Name)); err != nil {
		return err
	}
	return write(t.Path(p.Name), []byte(linker))
}

// placeLibraries puts the shared libraries of an unpacked package into the cache.
func (t *Tools) placeLibraries(tree string) error {
	if err := os.MkdirAll(filepath.Join(t.dir, libraries), 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(tree, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(entry.Name(), ".so") {
			return err
		}
		return os.Rename(path, filepath.Join(t.dir, libraries, entry.Name()))
	})
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
