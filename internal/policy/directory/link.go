// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// linked finds what a link leads to that nobody would read: a directory may lead back, and isn't walked into, and of a
// module or examples nothing is there.
func linked(fsys fs.FS, at string, entry fs.DirEntry, found *problems) {
	if entry.Type()&fs.ModeSymlink == 0 || strings.HasPrefix(entry.Name(), ".") {
		return
	}
	info, err := fs.Stat(fsys, at)
	if dangles(entry, err) && slices.Contains([]string{extension, ".yaml", ".yml"}, path.Ext(entry.Name())) {
		found.add(at, 0, "%s", nowhere(fsys, at))
	}
	if err != nil || !info.IsDir() {
		return
	}
	rego := fs.WalkDir(fsys, at, func(below string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(below, extension) {
			return errFound
		}
		return nil
	})
	if errors.Is(rego, errFound) {
		found.add(at, 0, "it is a link to a directory with Rego, which isn't followed: put the directory there, or "+
			"remove the link")
	}
}

// errFound ends a walk that has found what it looks for.
var errFound = errors.New("found")

// dangles says that an entry is a link to what isn't there, by the error of whoever looked.
func dangles(entry fs.DirEntry, err error) bool {
	return entry.Type()&fs.ModeSymlink != 0 && errors.Is(err, fs.ErrNotExist)
}

// nowhere says of a link that it leads to nothing.
func nowhere(fsys fs.FS, at string) string {
	to, err := fs.ReadLink(fsys, at)
	if err != nil {
		to = "something" // a file system that can't say so
	}
	return "it is a link to " + prose.Shown(to) + ", which isn't there: correct the link, or remove it"
}

// LinksToNothing are the links at and below the directory asked for that lead to nothing and may have led to a
// directory of policies: no error, but hardly meant. What can't be read is left to whoever loads the policies.
func (t Tree) LinksToNothing() (found []Problem) {
	_ = fs.WalkDir(t.FS, t.Root, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // whoever loads the policies says so
		case entry.IsDir() && at != t.Root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || path.Ext(entry.Name()) != "":
			return nil
		}
		if _, err := fs.Stat(t.FS, at); dangles(entry, err) {
			found = append(found, Problem{File: at, Message: nowhere(t.FS, at)})
		}
		return nil
	})
	return found
}
