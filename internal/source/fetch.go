// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/source/git"
)

// Fetcher reads Git repositories; a git.Fetcher is one.
type Fetcher interface {
	// Fetch finds the newest commit, and its files, which are valid until the next Fetch of the key. The error wraps
	// one of git.Err*; any other may go by itself.
	Fetch(ctx context.Context, r git.Request) (*git.Fetched, error)
	// Forget drops the repository that is kept under a key.
	Forget(key string) error
}

// fetchFailure classifies an error of a Fetcher. What isn't named here may go by itself.
func fetchFailure(src *v1alpha1.PolicySource, err error) *failure {
	for _, known := range []struct {
		kind   error
		reason string
	}{
		{git.ErrInvalid, v1alpha1.ReasonInvalid},
		{git.ErrAuthentication, v1alpha1.ReasonAuthenticationFailed},
		{git.ErrUntrusted, v1alpha1.ReasonServerUntrusted},
		{git.ErrRepositoryNotFound, v1alpha1.ReasonNotFound},
		{git.ErrReferenceNotFound, v1alpha1.ReasonNotFound},
		{git.ErrTooLarge, v1alpha1.ReasonTooLarge},
		{git.ErrSignature, v1alpha1.ReasonSignatureInvalid},
		{git.ErrNotDescendant, v1alpha1.ReasonNotDescendant},
		{git.ErrHistoryUnknown, v1alpha1.ReasonNotDescendant},
	} {
		switch {
		case !errors.Is(err, known.kind):
		case known.reason == v1alpha1.ReasonNotDescendant:
			return stalled(known.reason, "%v. To roll back, push a commit that reverts; to take this revision, %s; to "+
				"take any, set spec.history: Any", err, acceptance(src, revisionOf(err)))
		default:
			return stalled(known.reason, "%v", err)
		}
	}
	return transient(v1alpha1.ReasonFetchFailed, "%v", err)
}

// revisionOf is the revision that an error is about; empty when none was found.
func revisionOf(err error) string {
	var of *git.Error
	if errors.As(err, &of) {
		return of.Revision
	}
	return ""
}

// timely is a repository's files while there is time to read them. Who walks them may
// pass over an error, so that it is kept.
type timely struct {
	fs.FS

	ctx  context.Context
	late error
}

func (t *timely) Open(name string) (fs.File, error) {
	return inTime(t, name, t.FS.Open)
}

func (t *timely) ReadDir(name string) ([]fs.DirEntry, error) {
	return inTime(t, name, func(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.FS, name) })
}

func (t *timely) ReadFile(name string) ([]byte, error) {
	return inTime(t, name, func(name string) ([]byte, error) { return fs.ReadFile(t.FS, name) })
}

func (t *timely) Stat(name string) (fs.FileInfo, error) {
	return inTime(t, name, func(name string) (fs.FileInfo, error) { return fs.Stat(t.FS, name) })
}

func inTime[T any](t *timely, name string, read func(string) (T, error)) (T, error) {
	if err := t.ctx.Err(); err != nil {
		var none T
		t.late = fmt.Errorf("read the files of the repository: %w", err)
		return none, t.late
	}
	return read(name)
}

func readFailure(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return transient(v1alpha1.ReasonTooLarge,
			"%v: they take longer than spec.timeout leaves: narrow spec.path, or raise spec.timeout", err)
	}
	if errors.Is(err, context.Canceled) {
		return transient(v1alpha1.ReasonFetchFailed, "%v", err)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return withProblems(v1alpha1.ReasonNotCompiling,
			[]v1alpha1.SourceProblem{problemAt(at.Path, 0, fmt.Sprintf("it can't be read: %v", at.Err))})
	}
	return err
}
