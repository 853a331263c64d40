// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// pointerPrefix begins each file that Git LFS keeps elsewhere.
const pointerPrefix = "version https://git-lfs.github.com/spec/v1\n"

// files is the tree of a commit as a file system. It reads what is asked for, and
// nothing before.
type files struct {
	// mu guards objects, which serves one reader at a time.
	mu      sync.Mutex
	objects *filesystem.Storage
	root    plumbing.Hash
	maxFile int64
}

func newFiles(objects *filesystem.Storage, root plumbing.Hash, maxFile int64) *files {
	return &files{objects: objects, root: root, maxFile: maxFile}
}

func (f *files) Open(name string) (fs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if at.IsDir() {
		entries, err := f.list(at)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &openDir{node: at, entries: entries}, nil
	}
	text, err := f.content(at)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{node: at, Reader: bytes.NewReader(text)}, nil
}

func (f *files) ReadFile(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.find("read", name)
	if err != nil {
		return nil, err
	}
	text, err := f.content(at)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return text, nil
}

func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.find("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := f.list(at)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return entries, nil
}

func (f *files) Stat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return at, nil
}

func (f *files) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	at, err := f.follow(name)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	at.name = path.Base(name)
	sized, err := at.measured()
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return sized, nil
}

func parts(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

func (f *files) child(dir *node, name string) (*node, error) {
	tree, err := f.tree(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range tree.Entries {
		if entry.Name == name {
			return dir.child(entry), nil
		}
	}
	return nil, fs.ErrNotExist
}

func (f *files) tree(dir *node) (*object.Tree, error) {
	switch {
	case dir.mode == filemode.Submodule:
		return nil, failf(ErrPath, "%s is a submodule, and submodules aren't fetched: put the files themselves there, "+
			"make a source of the other repository, or exclude it", dir.at)
	case dir.mode != filemode.Dir:
		return nil, failf(ErrPath, "%s is a file: give the directory that it is in", dir.at)
	}
	tree, err := object.GetTree(f.objects, dir.hash)
	if err != nil {
		return nil, fmt.Errorf("read directory %s: %w", dir.at, err)
	}
	return tree, nil
}

func (f *files) list(dir *node) ([]fs.DirEntry, error) {
	tree, err := f.tree(dir)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, 0, len(tree.Entries))
	for _, entry := range tree.Entries {
		if !fs.ValidPath(entry.Name) || entry.Name == "." || strings.Contains(entry.Name, "/") {
			return nil, failf(ErrPath, "%s holds a file named %q, which no file may be: rename it", dir.at, entry.Name)
		}
		entries = append(entries, dir.child(entry))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// size is a file's in bytes. One that the server left out as too large is larger
// than any that is read.
func (f *files) size(at *node) (int64, error) {
	size, err := f.objects.EncodedObjectSize(at.hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return f.maxFile + 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the size of %s: %w", at.at, err)
	}
	return size, nil
}

func (f *files) content(at *node) ([]byte, error) {
	if at.IsDir() {
		return nil, failf(ErrPath, "%s is a directory: give a file", at.at)
	}
	if at.bytes > f.maxFile {
		return nil, failf(ErrTooLarge, "%s exceeds %d KiB: split it, or exclude it", at.at, f.maxFile>>10)
	}
	text, err := f.blob(at.hash)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", at.at, err)
	}
	if bytes.HasPrefix(text, []byte(pointerPrefix)) {
		return nil, failf(ErrPath,
			"%s is kept in Git LFS, which isn't fetched: commit the file itself (git lfs untrack), or exclude it",
			at.at)
	}
	return text, nil
}

func (f *files) blob(hash plumbing.Hash) ([]byte, error) {
	blob, err := object.GetBlob(f.objects, hash)
	if err != nil {
		return nil, fmt.Errorf("find its content: %w", err)
	}
	from, err := blob.Reader()
	if err != nil {
		return nil, fmt.Errorf("open its content: %w", err)
	}
	text, err := io.ReadAll(from)
	return text, errors.Join(err, from.Close())
}
