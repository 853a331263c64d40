// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// maxDepth is how many differences an object may be built of; Git's own limit.
	maxDepth = 4095
	// baseCache is how much of what objects are built on is kept in memory.
	baseCache = 32 * cache.MiByte
	// roomForBases is how many times as large as a file that is read one may be that
	// is built on.
	roomForBases = 4
)

var (
	// errOversized says that an object is too large to be built in memory.
	errOversized = errors.New("oversized")
	// errNoBase says that what an object is a difference from isn't known.
	errNoBase = errors.New("an object is a difference from one that isn't there")
)

// keepPack writes a pack, with its index, to where Git keeps them. go-git would
// have each object in memory whole, however large it is.
func (f *Fetcher) keepPack(ctx context.Context, dir string, pack io.Reader) error {
	home := filepath.Join(dir, "objects", "pack")
	arrived, err := os.Create(filepath.Join(home, "arriving"))
	if err != nil {
		return fmt.Errorf("keep the repository: %w", err)
	}
	defer func() { _ = arrived.Close() }()
	if _, err := io.Copy(arrived, pack); err != nil {
		return fmt.Errorf("read the repository: %w", err)
	}
	if _, err := arrived.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("index the repository: %w", err)
	}
	x := &indexer{
		scan: packfile.NewScanner(&patient{File: arrived, ctx: ctx}), limit: f.options.MaxFileBytes * roomForBases,
		at: map[int64]*packed{}, named: map[plumbing.Hash]*packed{}, bases: cache.NewBufferLRU(baseCache),
	}
	index, sum, err := x.index()
	if err != nil {
		return fmt.Errorf("index the repository: %w", err)
	}
	name := filepath.Join(home, "pack-"+sum.String())
	written, err := os.Create(name + ".idx")
	if err != nil {
		return fmt.Errorf("keep the index: %w", err)
	}
	_, err = idxfile.NewEncoder(written).Encode(index)
	if err := errors.Join(err, written.Close(), os.Rename(arrived.Name(), name+".pack")); err != nil {
		return fmt.Errorf("keep the index: %w", err)
	}
	return nil
}

// patient is a file that is read until time is up.
type patient struct {
	*os.File

	ctx context.Context
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.File.Read(b)
}

// packed is an object in a pack.
type packed struct {
	*packfile.ObjectHeader

	crc uint32
	// hash and kind are known at once unless it is a difference from another object.
	hash plumbing.Hash
	kind plumbing.ObjectType
}

// indexer finds the objects of a pack.
type indexer struct {
	scan  *packfile.Scanner
	limit int64
	all   []*packed
	at    map[int64]*packed
	named map[plumbing.Hash]*packed
	bases *cache.BufferLRU
}

// index lists a pack's objects. Those that are too large to be built from
// differences are left out, as if the server had.
func (x *indexer) index() (*idxfile.MemoryIndex, plumbing.Hash, error) {
	sum, err := x.survey()
	if err != nil {
		return nil, sum, err
	}
	var writer idxfile.Writer
	if err := writer.OnHeader(uint32(len(x.all))); err != nil {
		return nil, sum, err
	}
	if err := x.resolve(); err != nil {
		return nil, sum, err
	}
	for _, object := range x.all {
		if !object.hash.IsZero() {
			writer.Add(object.hash, uint64(object.Offset), object.crc)
		}
	}
	if err := writer.OnFooter(sum); err != nil {
		return nil, sum, err
	}
	index, err := writer.Index()
	return index, sum, err
}

// resolve finds what objects are that are differences. One may be a difference from
// another that stands behind it, so it goes on as long as it finds any.
func (x *indexer) resolve() error {
	left := x.all
	for {
		var waiting []*packed
		for _, object := range left {
			if !object.Type.IsDelta() {
				continue
			}
			text, err := x.build(object, 0)
			switch {
			case errors.Is(err, errOversized):
			case errors.Is(err, errNoBase):
				waiting = append(waiting, object)
			case err != nil:
				return err
			default:
				object.hash = plumbing.ComputeHash(object.kind, text)
				x.named[object.hash] = object
			}
		}
		switch {
		case len(waiting) == 0:
			return nil
		case len(waiting) == len(left):
			return errNoBase
		}
		left = waiting
	}
}

// survey reads the pack from one end to the other, and keeps no content.
func (x *indexer) survey() (sum plumbing.Hash, err error) {
	_, count, err := x.scan.Header()
	if err != nil {
		return sum, err
	}
	for range count {
		header, err := x.scan.NextObjectHeader()
		if err != nil {
			return sum, err
		}
		object := &packed{ObjectHeader: header, kind: header.Type}
		if header.Type != plumbing.BlobObject && !header.Type.IsDelta() && header.Length > x.limit {
			return sum, failf(ErrTooLarge,
				"the repository holds a directory or commit of %d MiB: keep the policies in a smaller one",
				header.Length>>20)
		}
		if header.Type.IsDelta() {
			_, object.crc, err = x.scan.NextObject(io.Discard)
		} else {
			hasher := plumbing.NewHasher(header.Type, header.Length)
			_, object.crc, err = x.scan.NextObject(hasher)
			object.hash = hasher.Sum()
			x.named[object.hash] = object
		}
		if err != nil {
			return sum, err
		}
		x.all, x.at[header.Offset] = append(x.all, object), object
	}
	sum, err = x.scan.Checksum()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return sum, err
}

func (x *indexer) build(object *packed, depth int) ([]byte, error) {
	if text, ok := x.bases.Get(object.Offset); ok {
		return text, nil
	}
	if object.Length > x.limit {
		return nil, errOversized
	}
	if depth > maxDepth {
		return nil, errors.New("an object is built of too many differences")
	}
	// Bases come first: there is one scanner.
	var base []byte
	if object.Type.IsDelta() {
		below, err := x.base(object)
		if err != nil {
			return nil, err
		}
		if base, err = x.build(below, depth+1); err != nil {
			return nil, err
		}
		object.kind = below.kind
	}
	text, err := x.content(object)
	if err == nil && object.Type.IsDelta() {
		if becomes(text) > uint64(x.limit) {
			return nil, errOversized
		}
		text, err = packfile.PatchDelta(base, text)
	}
	if err != nil {
		return nil, err
	}
	x.bases.Put(object.Offset, text)
	return text, nil
}

func (x *indexer) content(object *packed) ([]byte, error) {
	if _, err := x.scan.SeekObjectHeader(object.Offset); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	_, _, err := x.scan.NextObject(&text)
	return text.Bytes(), err
}

func (x *indexer) base(object *packed) (*packed, error) {
	below, ok := x.named[object.Reference]
	if object.Type == plumbing.OFSDeltaObject {
		below, ok = x.at[object.OffsetReference]
	}
	if !ok {
		return nil, errNoBase
	}
	return below, nil
}

// becomes is how long a difference says that its result is. It begins with two
// numbers, of which that is the second.
func becomes(difference []byte) uint64 {
	_, first := binary.Uvarint(difference)
	if first <= 0 {
		return 0 // PatchDelta refuses it
	}
	size, _ := binary.Uvarint(difference[first:])
	return size
}
