// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/source"
	"evenkeel.dev/evenkeel/internal/source/git"
	"evenkeel.dev/evenkeel/internal/wallclock"
)

// gitFetcher reads the repositories of PolicySources with Git.
type gitFetcher struct{ *git.Fetcher }

func newGitFetcher(dir string, allowFiles bool) (gitFetcher, error) {
	fetcher, err := git.NewFetcher(git.Options{Dir: dir, Clock: wallclock.New(), AllowFile: allowFiles})
	return gitFetcher{fetcher}, err
}

// Fetch finds the newest commit of what is followed, and its files.
func (g gitFetcher) Fetch(ctx context.Context, r source.FetchRequest) (*source.Fetched, error) {
	request := git.Request{Key: r.Key, URL: r.URL, Credentials: r.Credentials, Signers: r.Signers, Since: r.Since,
		Accepted: r.Accepted}
	if r.Ref != nil {
		request.Ref = git.Reference{Branch: r.Ref.Branch, Tag: r.Ref.Tag, Semver: r.Ref.Semver, Commit: r.Ref.Commit}
	}
	fetched, err := g.Fetcher.Fetch(ctx, request)
	if err != nil {
		return nil, sourceFailure(err)
	}
	return &source.Fetched{Revision: fetched.Revision, Files: fetched.Files}, nil
}

// sourceFailure is what an error of Git means for a source. What isn't named here
// may go by itself.
func sourceFailure(err error) error {
	for _, known := range []struct {
		kind   error
		reason string
	}{
		{git.ErrInvalid, v1alpha1.ReasonInvalid},
		{git.ErrAuthentication, v1alpha1.ReasonAuthenticationFailed},
		{git.ErrUntrusted, v1alpha1.ReasonServerUntrusted},
		{git.ErrRepositoryNotFound, v1alpha1.ReasonRepositoryNotFound},
		{git.ErrReferenceNotFound, v1alpha1.ReasonRefNotFound},
		{git.ErrTooLarge, v1alpha1.ReasonTooLarge},
		{git.ErrSignature, v1alpha1.ReasonSignatureInvalid},
		{git.ErrNotDescendant, v1alpha1.ReasonNotDescendant},
		{git.ErrHistoryUnknown, v1alpha1.ReasonHistoryUnknown},
	} {
		if errors.Is(err, known.kind) {
			return &source.FetchError{Reason: known.reason, Stalled: true, Revision: revisionOf(err), Err: err}
		}
	}
	return &source.FetchError{Err: err}
}

// revisionOf is the revision that an error is about; empty when none was found.
func revisionOf(err error) string {
	var of *git.Error
	if errors.As(err, &of) {
		return of.Revision
	}
	return ""
}
