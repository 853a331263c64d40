// SPDX-License-Identifier: Apache-2.0

package git

import (
	"io/fs"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

const (
	// maxLinks is how many symbolic links one path may lead through.
	maxLinks = 40
	// maxLinkBytes bounds where a symbolic link may lead to.
	maxLinkBytes = 4096
)

func (f *files) follow(name string) (*node, error) {
	top := &node{files: f, name: ".", at: ".", mode: filemode.Dir, hash: f.root}
	at, left := top, parts(name)
	for links := 0; len(left) > 0; left = left[1:] {
		next, err := f.child(at, left[0])
		if err != nil {
			return nil, err
		}
		if next.mode != filemode.Symlink {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return nil, failf(ErrPath, "symbolic links lead in a circle: put the file itself there")
		}
		leads, err := f.leadsTo(next)
		if err != nil {
			return nil, err
		}
		// The first is dropped as the loop goes on.
		at, left = top, slices.Concat([]string{""}, parts(leads), left[1:])
	}
	return at, nil
}

// Lstat tells of a file, or of the link that stands in its place.
func (f *files) Lstat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.findLink("lstat", name)
	if err != nil {
		return nil, err
	}
	return at, nil
}

// ReadLink gives where a symbolic link leads to, as it is written.
func (f *files) ReadLink(name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.findLink("readlink", name)
	if err != nil {
		return "", err
	}
	if at.mode != filemode.Symlink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	text, err := f.written(at)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return text, nil
}

// findLink is find, but doesn't follow what the last name stands for.
func (f *files) findLink(op, name string) (*node, error) {
	if name == "." || !fs.ValidPath(name) {
		return f.find(op, name)
	}
	dir, err := f.find(op, path.Dir(name))
	if err != nil {
		return nil, err
	}
	at, err := f.child(dir, path.Base(name))
	if err == nil {
		at, err = at.measured()
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return at, nil
}

// leadsTo is the path within the tree that a symbolic link leads to.
func (f *files) leadsTo(link *node) (string, error) {
	text, err := f.written(link)
	if err != nil {
		return "", err
	}
	leads := path.Join(path.Dir(link.at), text)
	if path.IsAbs(text) || !fs.ValidPath(leads) {
		return "", failf(ErrPath, "symbolic link %s leads out of the repository: put the file itself there", link.at)
	}
	return leads, nil
}

func (f *files) written(link *node) (string, error) {
	if size, err := f.objects.EncodedObjectSize(link.hash); err != nil || size > maxLinkBytes {
		return "", failf(ErrPath, "symbolic link %s leads nowhere: put the file itself there", link.at)
	}
	text, err := f.blob(link.hash)
	return string(text), err
}
