// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
)

// session is one conversation with a server, in which all is of one moment: what
// it shows is what it gives.
type session interface {
	AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error)
	UploadPack(context.Context, *packp.UploadPackRequest) (*packp.UploadPackResponse, error)
	Close() error
}

func (f *Fetcher) open(ctx context.Context, at *transport.Endpoint, c credentials) (session, error) {
	switch at.Protocol {
	case schemeSSH:
		return f.openSSH(ctx, at, c)
	case schemeFile:
		return file.DefaultClient.NewUploadPackSession(at, nil)
	}
	return openHTTP(at, c)
}

// classify gives an error of a conversation its kind. An error that has one keeps
// it; what isn't known counts as unreachable, so that it is tried again.
func classify(ctx context.Context, at *transport.Endpoint, c credentials, err error) error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil:
		return because(context.Cause(ctx), ErrUnreachable, "%s didn't give the repository within the time allowed: "+
			"raise the timeout if it is this slow, or see what keeps it", place(at))
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return failf(ErrReferenceNotFound, "the repository is empty: push a commit")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return failf(ErrRepositoryNotFound, "%s has no repository %s, or doesn't show it to these credentials: "+
			"correct the URL, or let the credentials read it", place(at), at.Path)
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return refused(at, c)
	}
	if untrusted := untrustedCertificate(at, err); untrusted != nil {
		return untrusted
	}
	return because(plain(err), ErrUnreachable, "%s didn't give the repository: %s", place(at),
		words(redact(err.Error(), c.secrets())))
}

// refused says what was shown to the server, and never its value.
func refused(at *transport.Endpoint, c credentials) error {
	shown := "no credentials were shown; give username and password, or bearerToken, in the Secret that secretRef names"
	switch {
	case at.Protocol == schemeSSH:
		shown = "it doesn't let the key of identity in; add its public half to the repository's keys"
	case c.text(keyBearerToken) != "":
		shown = "bearerToken was shown; see that it is right, hasn't expired and may read the repository"
	case c.text(keyUsername) != "" || c.text(keyPassword) != "":
		shown = "username and password were shown; see that they are right, haven't expired and may read the repository"
	}
	return failf(ErrAuthentication, "%s refuses access to %s: %s", place(at), at.Path, shown)
}

// plain keeps of a cause only what says that time was up, since others may hold
// what a server says.
func plain(err error) error {
	for _, kept := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, kept) {
			return kept
		}
	}
	return nil
}

func place(at *transport.Endpoint) string {
	if at.Protocol == schemeFile {
		return "this machine"
	}
	return address(at)
}
