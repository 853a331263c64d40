// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Fetcher reads Git repositories.
type Fetcher interface {
	// Fetch finds the newest commit of what is followed, and its files. The error is
	// a *FetchError where the cause is known.
	Fetch(ctx context.Context, r FetchRequest) (*Fetched, error)
	// Forget drops what is kept of a source's repository.
	Forget(key string) error
}

// FetchRequest says what to read.
type FetchRequest struct {
	// Key tells apart what is kept of several sources.
	Key string
	URL string
	// Ref is what is followed; nil for the default branch.
	Ref *v1alpha1.SourceReference
	// Credentials are the values of the Secret that the repository asks for; nil for
	// none.
	Credentials map[string][]byte
	// Signers are the values of the Secret with the keys of which one must have
	// signed the commit; nil when no signature is asked for.
	Signers map[string][]byte
	// Since is the commit in force, from which what is found must descend; empty where
	// any is taken. Accepted is a commit that is taken all the same.
	Since, Accepted string
}

// Fetched is a repository at one commit.
type Fetched struct {
	// Revision names the commit for people, for example main@sha1:5f3c….
	Revision string
	// Files are the commit's; they may be read until the next Fetch of the same key.
	Files fs.FS
}

// FetchError is why a repository can't be read.
type FetchError struct {
	// Reason is one of a PolicySource's Ready condition; empty for FetchFailed.
	Reason string
	// Stalled says that only a person can fix it.
	Stalled bool
	// Revision is what was found, and isn't taken; empty when it isn't that which is
	// wrong.
	Revision string
	// Err says what is wrong and what to do. It never holds a credential.
	Err error
}

// Error is what is wrong.
func (e *FetchError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *FetchError) Unwrap() error { return e.Err }

// fetchFailure classifies an error of a Fetcher.
func fetchFailure(src *v1alpha1.PolicySource, err error) *failure {
	var known *FetchError
	if errors.As(err, &known) &&
		(known.Reason == v1alpha1.ReasonNotDescendant || known.Reason == v1alpha1.ReasonHistoryUnknown) {
		return stalled(known.Reason, "%v. To roll back, push a commit that reverts; to take this revision, %s; to "+
			"take any, set spec.history: Any",
			known, acceptance(src, known.Revision))
	}
	if errors.As(err, &known) {
		return &failure{reason: cmp.Or(known.Reason, v1alpha1.ReasonFetchFailed), message: known.Error(),
			stalled: known.Stalled}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return transient(v1alpha1.ReasonFetchFailed,
			"%v: the repository didn't answer within spec.timeout; raise it if the repository is this slow", err)
	}
	return transient(v1alpha1.ReasonFetchFailed, "%v", err)
}

// timely is a repository's files while there is time to read them. Who walks them may
// pass over an error, so that it is kept.
type timely struct {
	fs.FS

	ctx  context.Context
	late error
}

// Open opens a file.
func (t *timely) Open(name string) (fs.File, error) {
	return inTime(t, name, t.FS.Open)
}

// ReadDir lists a directory.
func (t *timely) ReadDir(name string) ([]fs.DirEntry, error) {
	return inTime(t, name, func(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.FS, name) })
}

// ReadFile reads a file.
func (t *timely) ReadFile(name string) ([]byte, error) {
	return inTime(t, name, func(name string) ([]byte, error) { return fs.ReadFile(t.FS, name) })
}

// Stat tells of a file.
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

// readFailure classifies an error of a repository's files.
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
