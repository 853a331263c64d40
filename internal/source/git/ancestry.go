// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

const (
	// history is where commits lie while an ancestor is looked for.
	history = "history"
	// maxHistoryBytes bounds what is read of a history, and maxHistory how many
	// commits of it are looked at.
	maxHistoryBytes = 256 << 20
	maxHistory      = 100_000
	// descended and apart mark what is known of two commits, for good: a commit's
	// ancestors never change.
	descended, apart = "descends-from-", "apart-from-"
)

// advances demands that what was found is, or descends from, the commit that the
// request says is in force, unless it says that this very one is accepted.
func (f *Fetcher) advances(ctx context.Context, at *transport.Endpoint, r Request, found target) error {
	commit := found.commit.String()
	if r.Since == "" || r.Since == commit || r.Accepted == commit {
		return nil
	}
	if !fullHash.MatchString(r.Since) {
		return notTaken(found, ErrHistoryUnknown,
			"%s can't be compared with what is in force, of which the commit isn't known (%s)", found.revision(),
			words(r.Since))
	}
	kept := filepath.Join(f.home(r.Key), found.want.String())
	for mark, descends := range map[string]bool{descended: true, apart: false} {
		if _, err := os.Stat(filepath.Join(kept, mark+r.Since)); err == nil {
			return f.unlessApart(found, r.Since, descends)
		}
	}
	descends, err := f.descends(ctx, at, r, found)
	if err != nil {
		return err
	}
	mark := apart
	if descends {
		mark = descended
	}
	if err := os.WriteFile(filepath.Join(kept, mark+r.Since), nil, 0o600); err != nil {
		return fmt.Errorf("note what is known of a history: %w", err)
	}
	return f.unlessApart(found, r.Since, descends)
}

func (f *Fetcher) unlessApart(found target, since string, descends bool) error {
	if descends {
		return nil
	}
	return notTaken(found, ErrNotDescendant, "%s doesn't descend from what is in force (%s): a branch or tag was "+
		"moved back or aside, or the URL leads to another repository", found.revision(), since)
}

// descends asks the server for the commits that lead to what was found and not to
// since. If since is an ancestor, one of them has it for a parent. A server can't
// feign that: each commit is known by the hash of what it says.
func (f *Fetcher) descends(ctx context.Context, at *transport.Endpoint, r Request, found target) (bool, error) {
	from, err := f.open(ctx, at, r.Credentials)
	if err != nil {
		return false, err
	}
	defer func() { _ = from.Close() }()
	shown, err := from.AdvertisedReferencesContext(ctx)
	if err != nil {
		return false, err
	}
	dir := filepath.Join(f.home(r.Key), history)
	complete, err := f.readHistory(ctx, from, shown, r, found, dir)
	if err == nil {
		var descends bool
		if descends, err = search(ctx, dir, found, r.Since, complete); err == nil {
			return descends, os.RemoveAll(dir)
		}
	}
	return false, errors.Join(err, os.RemoveAll(dir))
}

// readHistory gets the commits. complete says that the server knows since, so that
// what is missing leads to since as well.
func (f *Fetcher) readHistory(ctx context.Context, from session, shown *packp.AdvRefs, r Request, found target,
	dir string) (complete bool, err error) {
	if err := makePlace(dir); err != nil {
		return false, err
	}
	request := packp.NewUploadPackRequestFromCapabilities(shown.Capabilities)
	if shown.Capabilities.Supports(capability.Filter) {
		_ = request.Capabilities.Set(capability.Filter)
		request.Filter = packp.FilterTreeDepth(0) // commits alone
	}
	request.Wants, request.Haves = []plumbing.Hash{found.want}, []plumbing.Hash{plumbing.NewHash(r.Since)}
	response, err := from.UploadPack(ctx, request)
	if err != nil {
		return false, notGiven(r.Ref, err)
	}
	defer func() { _ = response.Close() }()
	limit := min(f.options.MaxPackBytes, maxHistoryBytes)
	pack := &limited{ctx: ctx, from: unwrapped(shown.Capabilities, response), limit: limit, left: limit}
	if err := f.keepPack(ctx, dir, pack); err != nil {
		if pack.exceeded != nil {
			return false, notTaken(found, ErrHistoryUnknown,
				"whether %s descends from what is in force (%s) can't be known: its history exceeds %d MiB",
				found.revision(), r.Since, limit>>20)
		}
		return false, err
	}
	return len(response.ACKs) > 0, nil
}

// search looks for since among the parents of the commits that were read.
func search(ctx context.Context, dir string, found target, since string, complete bool) (bool, error) {
	objects, goal := store(dir), plumbing.NewHash(since)
	seen := map[plumbing.Hash]bool{found.commit: true}
	for queue := []plumbing.Hash{found.commit}; len(queue) > 0; queue = queue[1:] {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		commit, err := object.GetCommit(objects, queue[0])
		switch {
		case errors.Is(err, plumbing.ErrObjectNotFound) && complete:
			continue // it leads to since as well, so it isn't after it
		case errors.Is(err, plumbing.ErrObjectNotFound):
			return false, notTaken(found, ErrHistoryUnknown,
				"whether %s descends from what is in force (%s) can't be known: the server has no whole history",
				found.revision(), since)
		case err != nil:
			return false, fmt.Errorf("read commit %s: %w", queue[0], err)
		}
		for _, parent := range commit.ParentHashes {
			if parent == goal {
				return true, nil
			}
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
		if len(seen) > maxHistory {
			return false, notTaken(found, ErrHistoryUnknown,
				"whether %s descends from what is in force (%s) can't be known: more than %d commits lie between",
				found.revision(), since, maxHistory)
		}
	}
	return false, nil
}

func notTaken(found target, kind error, format string, args ...any) *Error {
	e := failf(kind, format, args...)
	e.Revision = found.revision()
	return e
}
