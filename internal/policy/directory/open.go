// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Tree is a directory of policies on disk, with the library that they may import.
type Tree struct {
	// FS begins at the nearest directory, upward from the one asked for, that
	// holds LibraryDir; where none does, at the parent of the one asked for, so
	// that it keeps its name. The search ends at the top of a Git repository.
	FS fs.FS
	// Top is where FS begins, and Root the directory asked for within it.
	Top, Root string
	// library is the directory that stands in place of LibraryDir at Top, or empty.
	library string
}

// Open finds a directory's tree. The error says why dir can't be one.
func Open(dir string) (Tree, error) {
	asked, err := filepath.Abs(dir)
	if err != nil {
		return Tree{}, fmt.Errorf("find %s: %w", dir, err)
	}
	switch info, err := os.Stat(asked); {
	case errors.Is(err, os.ErrNotExist):
		return Tree{}, fmt.Errorf("%s doesn't exist: give a directory of policies", dir)
	case err != nil:
		return Tree{}, fmt.Errorf("%w: give a directory of policies", err)
	case !info.IsDir():
		return Tree{}, fmt.Errorf("%s is a file: give the directory that it is in", dir)
	}
	top := topOf(asked)
	root, err := filepath.Rel(top, asked)
	if err != nil {
		return Tree{}, fmt.Errorf("find %s below %s: %w", asked, top, err)
	}
	return Tree{FS: os.DirFS(top), Top: top, Root: filepath.ToSlash(root)}, nil
}

func topOf(asked string) string {
	for at := asked; ; at = filepath.Dir(at) {
		if modules, _ := filepath.Glob(filepath.Join(at, LibraryDir, "*"+extension)); len(modules) > 0 {
			return at
		}
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil || at == filepath.Dir(at) {
			return filepath.Dir(asked)
		}
	}
}

// Within is Open for a directory of a file system, such as a repository's: Top is
// then a path of it. The search for the library ends at its top.
func Within(fsys fs.FS, dir string) (Tree, error) {
	top := path.Dir(dir)
	for at := dir; ; at = path.Dir(at) {
		if modules, _ := fs.Glob(fsys, path.Join(at, LibraryDir, "*"+extension)); len(modules) > 0 {
			top = at
			break
		}
		if at == "." {
			break
		}
	}
	root := dir
	if top != "." {
		root = "."
		if dir != top {
			root = strings.TrimPrefix(dir, top+"/")
		}
	}
	below, err := fs.Sub(fsys, top)
	if err != nil {
		return Tree{}, fmt.Errorf("find %s: %w", dir, err)
	}
	return Tree{FS: below, Top: top, Root: root}, nil
}

// Path is where a file of FS is on disk, seen from the working directory when it
// lies below that.
func (t Tree) Path(file string) string {
	onDisk := filepath.Join(t.Top, filepath.FromSlash(file))
	if t.library != "" && isLibraryDir(file) {
		onDisk = filepath.Join(t.library, filepath.FromSlash(strings.TrimPrefix(file, LibraryDir)))
	}
	here, err := os.Getwd()
	if err != nil {
		return onDisk
	}
	if near, err := filepath.Rel(here, onDisk); err == nil && !strings.HasPrefix(near, "..") {
		return near
	}
	return onDisk
}

// Located names the files of a load's problems as the user sees them.
func (t Tree) Located(err error) error {
	var wrong *Error
	if !errors.As(err, &wrong) {
		return err
	}
	seen := &Error{}
	for _, problem := range wrong.Problems {
		problem.File = t.Path(problem.File)
		seen.Problems = append(seen.Problems, problem)
	}
	return fmt.Errorf("problems found: %d\n%w", len(seen.Problems), seen)
}
