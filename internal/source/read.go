// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/source/access"
	"evenkeel.dev/evenkeel/internal/source/git"
)

// read brings what is at hand of a source up to date with its repository.
func (c *Controller) read(ctx context.Context, src *v1alpha1.PolicySource, at *remembered, seen *observation) error {
	ctx, cancel := context.WithTimeout(ctx, timeout(src))
	defer cancel()
	seen.asked, at.askedAt = true, c.clock.Now()
	request, err := c.request(ctx, src, at)
	if err != nil {
		return err
	}
	fetched, err := c.fetcher.Fetch(ctx, request)
	if err != nil {
		failed := fetchFailure(src, err)
		if seen.found(err); disowns(failed.reason) {
			at.refused()
		}
		return failed
	}
	seen.fetched, seen.revision = true, fetched.Revision
	if at.newest != nil && at.newest.revision == fetched.Revision {
		return nil
	}
	at.newest = nil
	policies, strategies, err := load(ctx, fetched.Files, &src.Spec)
	if err != nil {
		return readFailure(err)
	}
	if len(policies) == 0 && !mayEmpty(src) {
		return stalled(v1alpha1.ReasonTooManyRemoved,
			"revision %s holds no policy at %q, so nothing was removed: correct spec.path, include and exclude, or "+
				"put the policies back; to really remove all of this source's policies set spec.maxRemoved: 100%%",
			fetched.Revision, src.Spec.Path)
	}
	at.newest = &content{revision: fetched.Revision, signers: digest(request.Signers), policies: policies,
		strategies: strategies}
	return nil
}

// found notes the revision that a repository answered with, though it isn't taken.
func (s *observation) found(err error) {
	if revision := revisionOf(err); revision != "" {
		s.fetched, s.revision = true, revision
	}
}

// disowns says that a repository which fails for this reason doesn't stand for what it
// gave before. Of that an unknown password or an untrusted server says nothing.
func disowns(reason string) bool {
	return reason == v1alpha1.ReasonSignatureInvalid || reason == v1alpha1.ReasonNotDescendant ||
		reason == v1alpha1.ReasonNotFound
}

// request gathers what the repository is asked with: the signers first, since what
// becomes of a revision that waits depends on them, whatever becomes of the credentials.
func (c *Controller) request(ctx context.Context, src *v1alpha1.PolicySource, at *remembered) (git.Request, error) {
	r := git.Request{Key: string(src.UID), URL: src.Spec.URL, Since: mustFollow(src), Accepted: accepted(src)}
	if src.Spec.Ref != nil {
		r.Ref = git.Reference(*src.Spec.Ref)
	}
	var err error
	if src.Spec.Verify != nil {
		if r.Signers, err = c.signers(ctx, src, at); err != nil {
			return r, err
		}
	}
	if src.Spec.SecretRef != nil {
		r.Credentials, err = c.values(ctx, src, src.Spec.SecretRef.Name, "spec.secretRef")
	}
	return r, err
}

// signers are the keys of those who may sign. A revision that waits, and was checked with
// others, is dropped; while they merely can't be read they may be the same.
func (c *Controller) signers(ctx context.Context, src *v1alpha1.PolicySource, at *remembered) (
	map[string][]byte, error) {
	values, err := c.values(ctx, src, src.Spec.Verify.SecretRef.Name, "spec.verify.secretRef")
	gone := errors.Is(err, access.ErrMissing)
	if gone || err == nil && at.newest != nil && at.newest.signers != digest(values) {
		at.refused()
	}
	return values, err
}

func (c *Controller) values(ctx context.Context, src *v1alpha1.PolicySource, name, field string) (
	map[string][]byte, error) {
	values, err := c.secrets.Read(ctx, src.Namespace, name, field)
	if err != nil {
		failed := transient(v1alpha1.ReasonSecretUnavailable, "%v", err)
		failed.cause = err
		return nil, failed
	}
	return values, nil
}

// survey keeps the bounds before anything is read.
type survey struct {
	files fs.FS
	// modules counts the Rego files that aren't tests, entries all files and
	// directories, and directories these.
	modules, entries, directories int
	bytes                         int64
}

// walk reads a directory, which may be missing: Git keeps no empty ones.
func (s *survey) walk(dir string) error {
	err := fs.WalkDir(s.files, dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := s.countEntry(at, dir, entry.IsDir()); err != nil {
			return err
		}
		switch {
		case entry.IsDir() && at != dir && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(at, extension):
			return nil
		}
		return s.countModule(at, entry)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lookAtLibrary walks the library at the top of a tree, unless it was walked with
// the directory.
func (s *survey) lookAtLibrary(top, dir string) error {
	shared := path.Join(top, directory.LibraryDir)
	if dir == "." || strings.HasPrefix(shared+"/", dir+"/") {
		return nil
	}
	return s.walk(shared)
}

func (s *survey) countEntry(at, dir string, isDir bool) error {
	if len(at) > maxPath {
		return withProblems(v1alpha1.ReasonTooLarge, []v1alpha1.SourceProblem{
			problemAt(at, 0, fmt.Sprintf("the path has more than %d bytes: nest directories less deeply",
				maxPath))})
	}
	s.entries++
	if isDir {
		s.directories++
	}
	if s.entries > maxEntries || s.directories > maxDirectories {
		return stalled(v1alpha1.ReasonTooLarge,
			"%s holds more than %d files and directories, or than %s: narrow spec.path, or split the source by "+
				"spec.include", dir, maxEntries, prose.Count(maxDirectories, "directory"))
	}
	return nil
}

func (s *survey) countModule(at string, entry fs.DirEntry) error {
	size, err := s.size(at, entry)
	if err != nil {
		return err
	}
	if size > maxModuleBytes {
		return withProblems(v1alpha1.ReasonTooLarge, []v1alpha1.SourceProblem{
			problemAt(at, 0, fmt.Sprintf("the file has %d bytes, and a module may have %d: split it", size,
				maxModuleBytes))})
	}
	if s.bytes += size; s.bytes > maxTotalBytes {
		return stalled(v1alpha1.ReasonTooLarge,
			"the Rego exceeds %d MiB: split the source by spec.path or spec.include", maxTotalBytes>>20)
	}
	if !strings.HasSuffix(at, "_test"+extension) {
		s.modules++
	}
	return nil
}

// size is that of a file, or of the one that a link leads to: it is read as often as
// links lead to it. Where a link leads to none, whoever reads it says so.
func (s *survey) size(at string, entry fs.DirEntry) (int64, error) {
	if entry.Type()&fs.ModeSymlink == 0 {
		info, err := entry.Info()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	info, err := fs.Stat(s.files, at)
	if err != nil || !info.Mode().IsRegular() {
		return 0, nil //nolint:nilerr // see above
	}
	return info.Size(), nil
}
