// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/manifest"
)

// LibraryDir is the directory at the top of the file system whose modules the
// policies below any root may import.
const LibraryDir = "lib"

const (
	extension  = ".rego"
	testSuffix = "_test.rego"
)

// directory is one directory that holds Rego, or strategies.
type directory struct {
	path       string
	modules    []*module
	strategies []Strategy
}

// main is the module named for the directory, or nil.
func (d *directory) main() *module {
	for _, m := range d.modules {
		if path.Base(m.file) == path.Base(d.path)+extension {
			return m
		}
	}
	return nil
}

// readTree reads the directories below root, sorted by path, with their modules
// sorted by file, and their strategies. Hidden directories are left out. A directory that is empty, or
// has neither Rego nor directories, is a problem: a policy is missing there.
func readTree(fsys fs.FS, root string, found *problems) ([]*directory, error) {
	var dirs []*directory
	err := fs.WalkDir(fsys, root, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			linked(fsys, at, entry, found)
			return nil
		case at != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		}
		dir, holdsDirs, err := readDirectory(fsys, at, found)
		if err != nil {
			return err
		}
		holds := len(dir.modules)+len(dir.strategies) > 0
		if !holds && !holdsDirs {
			found.add(at, 0, "the directory holds no policy: put %s%s there, or remove it", path.Base(at), extension)
		}
		if holds {
			dirs = append(dirs, dir)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", root, err)
	}
	slices.SortFunc(dirs, func(a, b *directory) int { return cmp.Compare(a.path, b.path) })
	return dirs, nil
}

// ReadFile is fs.ReadFile for what is a file, or a link to one: a pipe or a device may never end.
func ReadFile(fsys fs.FS, name string) ([]byte, error) {
	switch other, err := notAFile(fsys, name, fs.ModeSymlink); {
	case err != nil:
		return nil, err
	case other != "":
		return nil, fmt.Errorf("%s is %s, not a file: remove it", name, other)
	}
	return fs.ReadFile(fsys, name)
}

// notAFile says what an entry of some type is, or leads to, that is neither a file nor a directory; empty for
// one that is. The file itself is only asked when it may be a link.
func notAFile(fsys fs.FS, name string, mode fs.FileMode) (string, error) {
	if mode&fs.ModeSymlink != 0 {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return "", err
		}
		mode = info.Mode().Type()
	}
	if mode.IsRegular() || mode.IsDir() {
		return "", nil
	}
	return manifest.TypeOf(mode), nil
}

func readDirectory(fsys fs.FS, at string, found *problems) (dir *directory, holdsDirs bool, err error) {
	entries, err := fs.ReadDir(fsys, at)
	if err != nil {
		return nil, false, err
	}
	dir = &directory{path: at}
	if dir.strategies, err = strategiesAmong(fsys, at, entries, found); err != nil {
		return nil, false, err
	}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() {
			holdsDirs = true
			continue
		}
		if !strings.HasSuffix(name, extension) || strings.HasSuffix(name, testSuffix) {
			continue
		}
		switch other, err := notAFile(fsys, path.Join(at, name), entry.Type()); {
		case dangles(entry, err): // linked has told of it
			continue
		case err != nil:
			return nil, false, err
		case other != "":
			found.add(path.Join(at, name), 0, "it is %s, not a file: remove it", other)
			continue
		}
		text, err := fs.ReadFile(fsys, path.Join(at, name))
		if err != nil {
			return nil, false, err
		}
		dir.modules = append(dir.modules, newModule(path.Join(at, name), string(text)))
	}
	return dir, holdsDirs, nil
}
