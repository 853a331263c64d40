// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// node is a file or a directory of a tree: its own fs.DirEntry and fs.FileInfo.
type node struct {
	files *files
	// name is what it was asked for by, and at where it is in the repository.
	name, at string
	mode     filemode.FileMode
	hash     plumbing.Hash
	bytes    int64
}

func (n *node) child(entry object.TreeEntry) *node {
	return &node{files: n.files, name: entry.Name, at: path.Join(n.at, entry.Name), mode: entry.Mode, hash: entry.Hash,
		bytes: -1}
}

func (n *node) Name() string { return n.name }

// IsDir says whether it can be listed. A submodule counts, as in a checkout.
func (n *node) IsDir() bool { return n.mode == filemode.Dir || n.mode == filemode.Submodule }

func (n *node) Type() fs.FileMode { return n.Mode().Type() }

func (n *node) Mode() fs.FileMode {
	switch n.mode {
	case filemode.Dir, filemode.Submodule:
		return fs.ModeDir | 0o755
	case filemode.Symlink:
		return fs.ModeSymlink | 0o777
	case filemode.Executable:
		return 0o755
	default:
		return 0o644
	}
}

// Info tells the size, which takes a look at the object.
func (n *node) Info() (fs.FileInfo, error) {
	n.files.mu.Lock()
	defer n.files.mu.Unlock()
	return n.measured()
}

func (n *node) measured() (*node, error) {
	if n.IsDir() {
		return n, nil
	}
	size, err := n.files.size(n)
	if err != nil {
		return nil, err
	}
	sized := *n
	sized.bytes = size
	return &sized, nil
}

func (n *node) Size() int64 { return n.bytes }

// ModTime is unknown to Git.
func (n *node) ModTime() time.Time { return time.Time{} }

func (n *node) Sys() any { return nil }

// openFile is a file that is being read.
type openFile struct {
	*bytes.Reader

	node *node
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.node, nil }

func (o *openFile) Close() error { return nil }

// openDir is a directory that is being listed.
type openDir struct {
	node    *node
	entries []fs.DirEntry
}

func (o *openDir) Stat() (fs.FileInfo, error) { return o.node, nil }

func (o *openDir) Close() error { return nil }

// Read fails, since a directory has no content.
func (o *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: o.node.at,
		Err: failf(ErrPath, "%s is a directory: give a file", o.node.at)}
}

func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		left := o.entries
		o.entries = nil
		return left, nil
	}
	if len(o.entries) == 0 {
		return nil, io.EOF
	}
	next := o.entries[:min(n, len(o.entries))]
	o.entries = o.entries[len(next):]
	return next, nil
}
