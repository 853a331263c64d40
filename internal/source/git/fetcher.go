// SPDX-License-Identifier: Apache-2.0

package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"k8s.io/utils/clock"
)

// The bounds that Options has by default.
const (
	defaultPackBytes = 1 << 30
	defaultFileBytes = 10 << 20
)

// partial is where a download lies until it is complete.
const partial = "partial"

// Options say how repositories are read.
type Options struct {
	// Dir is where what was fetched is kept: one commit of each repository. It is
	// made if need be, and may be lost at any time between two calls.
	Dir string
	// Clock tells whether a key has expired.
	Clock clock.PassiveClock
	// MaxPackBytes bounds what one repository may take on disk, packed as Git sends
	// it. Default: 1 GiB.
	MaxPackBytes int64
	// MaxFileBytes bounds a file that is read. Larger ones only fail when they are.
	// Default: 10 MiB.
	MaxFileBytes int64
	// AllowHTTP lets a URL begin with http://, for tests; AllowFile with file://, for
	// tests and for a manager on the user's own machine.
	AllowHTTP, AllowFile bool
}

// Request says what to read.
type Request struct {
	// Key tells apart what is kept of several repositories. Calls with the same key
	// must not overlap.
	Key string
	// URL is https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH.
	URL string
	// Ref is what is followed.
	Ref Reference
	// Credentials are the values of a Secret with Flux's keys: username and password,
	// or bearerToken, and ca.crt or caFile, for https; identity, its password, and
	// known_hosts for ssh.
	Credentials map[string][]byte
	// Signers are the values of a Secret with public keys: armored OpenPGP keys, or
	// lines as in authorized_keys or allowed_signers. One of them must have signed
	// the tag that is followed or, where that has no signature, the commit. Nil asks
	// for no signature.
	Signers map[string][]byte
	// Since is the full hash of the commit in force: what is found must be it, or
	// descend from it. Empty takes any. Accepted is that of one which is taken all
	// the same.
	Since, Accepted string
}

// Fetched is a repository at one commit.
type Fetched struct {
	// Revision names the commit for people: main@sha1:5f3c…, v1.2.0@sha1:5f3c…, or
	// sha1:5f3c… for a commit that was asked for by its hash.
	Revision string
	// Commit is its hash.
	Commit string
	// Files are the commit's, read from disk as they are asked for. They may be read
	// until the next Fetch with the same key, by several goroutines. A file that
	// can't be used gives an error that is ErrPath or ErrTooLarge.
	Files fs.FS
}

// Fetcher reads repositories.
type Fetcher struct {
	options Options
}

// NewFetcher makes a Fetcher, and its directory.
func NewFetcher(o Options) (*Fetcher, error) {
	o.MaxPackBytes = cmp.Or(o.MaxPackBytes, defaultPackBytes)
	o.MaxFileBytes = cmp.Or(o.MaxFileBytes, defaultFileBytes)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for repositories: %w", err)
	}
	return &Fetcher{options: o}, nil
}

// Forget drops what is kept of a repository.
func (f *Fetcher) Forget(key string) error {
	if err := os.RemoveAll(f.home(key)); err != nil {
		return fmt.Errorf("remove what was kept of a repository: %w", err)
	}
	return nil
}

func (f *Fetcher) home(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.options.Dir, hex.EncodeToString(sum[:16]))
}

// Fetch finds the commit that the reference stands for now, and its files. What is
// on disk already isn't fetched again, so that a repository that hasn't changed
// costs one question. Every error is an *Error, and says what to do.
func (f *Fetcher) Fetch(ctx context.Context, r Request) (*Fetched, error) {
	at, err := f.options.parseAddress(r.URL)
	if err != nil {
		return nil, err
	}
	if err := r.Ref.validate(); err != nil {
		return nil, err
	}
	keys, err := f.parseSigners(r.Signers)
	if err != nil {
		return nil, err
	}
	found, objects, err := f.obtain(ctx, at, r)
	if err != nil {
		return nil, classify(ctx, at, r.Credentials, err)
	}
	commit, err := f.accept(objects, found, keys)
	if err != nil {
		return nil, classify(ctx, at, r.Credentials, err)
	}
	found.commit = commit.Hash
	if err := f.advances(ctx, at, r, found); err != nil {
		return nil, classify(ctx, at, r.Credentials, err)
	}
	return &Fetched{
		Revision: found.revision(),
		Commit:   commit.Hash.String(),
		Files:    newFiles(objects, commit.TreeHash, f.options.MaxFileBytes),
	}, nil
}

// obtain has a conversation with the server, after which what the reference stands
// for is on disk.
func (f *Fetcher) obtain(ctx context.Context, at *transport.Endpoint, r Request) (
	found target, objects *filesystem.Storage, err error) {
	from, err := f.open(ctx, at, r.Credentials)
	if err != nil {
		return found, nil, err
	}
	defer func() { _ = from.Close() }() // it has given all, or the error says why not
	shown, err := from.AdvertisedReferencesContext(ctx)
	if err != nil {
		return found, nil, err
	}
	if found, err = r.Ref.resolve(shown); err != nil {
		return found, nil, err
	}
	home := f.home(r.Key)
	if objects, ok := kept(home, found.want); ok {
		return found, objects, nil
	}
	return found, store(filepath.Join(home, found.want.String())), f.replace(ctx, from, shown, r, found.want)
}

// kept opens an object that is on disk with all that it needs.
func kept(home string, want plumbing.Hash) (*filesystem.Storage, bool) {
	objects := store(filepath.Join(home, want.String()))
	return objects, has(objects, want)
}

// replace downloads, and puts what came in the place of what was kept.
func (f *Fetcher) replace(ctx context.Context, from session, shown *packp.AdvRefs, r Request,
	want plumbing.Hash) error {
	home := f.home(r.Key)
	arriving := filepath.Join(home, partial)
	if err := f.download(ctx, from, shown, r.Ref, want, arriving); err != nil {
		return errors.Join(err, os.RemoveAll(arriving))
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return fmt.Errorf("list what was kept: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != partial {
			if err := os.RemoveAll(filepath.Join(home, entry.Name())); err != nil {
				return fmt.Errorf("remove what was kept: %w", err)
			}
		}
	}
	if err := os.Rename(arriving, filepath.Join(home, want.String())); err != nil {
		return fmt.Errorf("keep what came: %w", err)
	}
	return nil
}

// accept finds the commit, and checks the signature where one is asked for.
func (f *Fetcher) accept(objects *filesystem.Storage, found target, keys *signers) (*object.Commit, error) {
	at := found.want
	for {
		tag, err := object.GetTag(objects, at)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read tag %s: %w", at, err)
		}
		if keys, err = acceptTag(objects, found, tag, keys); err != nil {
			return nil, err
		}
		at = tag.Target
	}
	commit, err := object.GetCommit(objects, at)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, failf(ErrReferenceNotFound, "%s isn't a commit: follow a branch, or a tag of a commit", at)
	}
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", at, err)
	}
	if keys != nil {
		if err := keys.checkCommit(objects, commit.Hash); err != nil {
			return nil, err
		}
	}
	return commit, nil
}

// acceptTag checks one tag object on the way to the commit, and gives the keys of
// which one must sign what is left of it. Each tag object must bear the name of the
// tag that is followed: its signature is for that name, and under another it would
// roll back.
func acceptTag(objects *filesystem.Storage, found target, tag *object.Tag, keys *signers) (*signers, error) {
	if keys != nil {
		done, err := keys.checkTag(objects, tag)
		if err != nil {
			return nil, err
		}
		if done {
			keys = nil
		}
	}
	if found.name != "" && tag.Name != found.name {
		return nil, notTaken(found, ErrWrongName, "%s leads to a tag that was made as %s: the user who pushed it "+
			"under another name isn't who made it; tag the commit again (git tag -s %[1]s), or delete this one",
			words(found.name), words(tag.Name))
	}
	return keys, nil
}
