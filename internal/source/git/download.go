// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// objectCache is how much of what was read of a repository is kept in memory.
const objectCache = 8 * cache.MiByte

func store(dir string) *filesystem.Storage {
	return filesystem.NewStorageWithOptions(osfs.New(dir), cache.NewObjectLRU(objectCache),
		filesystem.Options{ExclusiveAccess: true})
}

// has says whether an object is there. go-git's own HasEncodedObject never finds one
// in a pack when access is exclusive.
func has(objects *filesystem.Storage, hash plumbing.Hash) bool {
	_, err := objects.EncodedObject(plumbing.AnyObject, hash)
	return err == nil
}

// download asks for an object without its history and keeps what comes in dir,
// which is made anew.
func (f *Fetcher) download(ctx context.Context, from session, shown *packp.AdvRefs, ref Reference, want plumbing.Hash,
	dir string) error {
	if err := makePlace(dir); err != nil {
		return err
	}
	response, err := from.UploadPack(ctx, f.ask(shown, ref, want))
	if err != nil {
		return notGiven(ref, err)
	}
	defer func() { _ = response.Close() }()
	pack := &limited{ctx: ctx, from: unwrapped(shown.Capabilities, response), limit: f.options.MaxPackBytes,
		left: f.options.MaxPackBytes}
	if err := f.keepPack(ctx, dir, pack); err != nil {
		return errors.Join(pack.exceeded, err)
	}
	if !has(store(dir), want) {
		return failf(ErrReferenceNotFound, "the repository has no %s: correct it, or push it to a branch", ref)
	}
	return nil
}

func makePlace(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove what is left of an earlier download: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a place for the repository: %w", err)
	}
	if err := store(dir).Init(); err != nil {
		return fmt.Errorf("make a place for the repository: %w", err)
	}
	return nil
}

// ask words the request. A commit that the server doesn't let be asked for by name
// is looked for in the whole history.
func (f *Fetcher) ask(shown *packp.AdvRefs, ref Reference, want plumbing.Hash) *packp.UploadPackRequest {
	request := packp.NewUploadPackRequestFromCapabilities(shown.Capabilities)
	if shown.Capabilities.Supports(capability.Filter) {
		// The server leaves out what wouldn't be read anyway.
		_ = request.Capabilities.Set(capability.Filter)
		request.Filter = packp.FilterBlobLimit(uint64(f.options.MaxFileBytes)+1, packp.BlobLimitPrefixNone)
	}
	if ref.Commit != "" && !mayBeNamed(shown, want) {
		for _, hash := range shown.References {
			request.Wants = append(request.Wants, hash)
		}
		return request
	}
	request.Wants = []plumbing.Hash{want}
	if shown.Capabilities.Supports(capability.Shallow) {
		_ = request.Capabilities.Set(capability.Shallow)
		request.Depth = packp.DepthCommits(1)
	}
	return request
}

// mayBeNamed says whether the server gives an object that is asked for by its hash.
func mayBeNamed(shown *packp.AdvRefs, want plumbing.Hash) bool {
	if shown.Capabilities.Supports(capability.AllowReachableSHA1InWant) {
		return true
	}
	for _, hash := range shown.References {
		if hash == want {
			return true
		}
	}
	return false
}

// notGiven tells a commit that doesn't exist, and a branch that has moved since the
// server showed it, by what every Git server says.
func notGiven(ref Reference, err error) error {
	switch {
	case !strings.Contains(err.Error(), "not our ref"):
		return err
	case ref.Commit != "":
		return failf(ErrReferenceNotFound, "the repository has no %s: correct it, or push it to a branch", ref)
	default:
		return failf(ErrUnreachable, "%s has moved while it was read", ref)
	}
}

// unwrapped is the pack alone, without the server's remarks beside it.
func unwrapped(shown *capability.List, response io.Reader) io.Reader {
	switch {
	case shown.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, response)
	case shown.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, response)
	}
	return response
}

// limited ends a download that takes too long or too much.
type limited struct {
	ctx         context.Context
	from        io.Reader
	limit, left int64
	// exceeded is set once the limit is.
	exceeded error
}

func (l *limited) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		l.exceeded = failf(ErrTooLarge,
			"the repository exceeds %d MiB: keep the policies in a smaller one, or raise the manager's limit",
			l.limit>>20)
		return 0, l.exceeded
	}
	return n, err
}
