// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// OpenWith is Open with the library at a directory in place of the nearest LibraryDir; an empty
// one is Open. The error says why one of the two can't be what it is given as.
func OpenWith(dir, library string) (Tree, error) {
	tree, err := Open(dir)
	if err != nil || library == "" {
		return tree, err
	}
	at, err := filepath.Abs(library)
	if err != nil {
		return Tree{}, fmt.Errorf("find the library %s: %w", library, err)
	}
	const instead = "give the directory with the modules that policies import, or leave --lib out: then it is lib/ " +
		"beside the policies, or above them"
	switch info, err := os.Stat(at); {
	case errors.Is(err, fs.ErrNotExist):
		return Tree{}, fmt.Errorf("--lib %s: there is no such directory: %s", library, instead)
	case err != nil:
		return Tree{}, fmt.Errorf("--lib: %w: %s", err, instead)
	case !info.IsDir():
		return Tree{}, fmt.Errorf("--lib %s is a file: %s", library, instead)
	}
	switch held, err := HoldsRego(at); {
	case err != nil:
		return Tree{}, fmt.Errorf("--lib %s: %w", library, err)
	case !held:
		return Tree{}, fmt.Errorf("--lib %s holds no Rego (*%s): %s", library, extension, instead)
	}
	tree.library = at
	tree.FS = &withLibrary{FS: tree.FS, library: os.DirFS(at)}
	return tree, nil
}

// HoldsRego says that a path, or what it links to, leads to Rego.
func HoldsRego(path string) (bool, error) { return holds(path, func(string) bool { return true }) }

// customKey is where METADATA begins to say what makes a module a policy.
var customKey = regexp.MustCompile(`(?m)^#\s*custom:`)

// HoldsPolicy says that a path, or what it links to, leads to Rego that means to be a policy: with custom in its
// METADATA. Rego of others, such as the sources of a library for Gatekeeper, has none.
func HoldsPolicy(path string) (bool, error) {
	return holds(path, func(file string) bool {
		text, err := os.ReadFile(file)
		return err != nil || customKey.Match(text) // who loads it says why it can't be read
	})
}

func holds(path string, meant func(file string) bool) (found bool, err error) {
	if behind, err := filepath.EvalSymlinks(path); err == nil {
		path = behind
	}
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && at != path && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(at, extension) && meant(at):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("%s doesn't exist: give a directory of policies", path)
	}
	return found, err
}

// withLibrary is a tree with another LibraryDir at its top.
type withLibrary struct {
	fs.FS
	library fs.FS
}

func (w *withLibrary) Open(name string) (fs.File, error) {
	if !isLibraryDir(name) {
		return w.FS.Open(name)
	}
	below := strings.TrimPrefix(strings.TrimPrefix(name, LibraryDir), "/")
	if below == "" {
		below = "."
	}
	return w.library.Open(below)
}

// Library is where the library is on disk that the policies import, if they do.
func (t Tree) Library() string {
	if t.library != "" {
		return t.library
	}
	return filepath.Join(t.Top, LibraryDir)
}
