// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// The kinds of errors. Each error of this package is one of them by errors.Is.
var (
	// ErrInvalid: the URL, the reference or the values of a Secret are wrong as they
	// stand; asking again changes nothing.
	ErrInvalid = errors.New("stated wrongly")
	// ErrUnreachable: the server can't be reached, or broke off. It may go by itself.
	ErrUnreachable = errors.New("unreachable")
	// ErrAuthentication: the server refuses the credentials, or the lack of them.
	ErrAuthentication = errors.New("refused")
	// ErrUntrusted: the server can't prove that it is the one that is meant.
	ErrUntrusted = errors.New("not trusted")
	// ErrHostKeyUnknown: known_hosts doesn't name the server. It is an ErrUntrusted.
	ErrHostKeyUnknown = fmt.Errorf("%w: unknown host key", ErrUntrusted)
	// ErrHostKeyChanged: known_hosts has another key for the server. It is an
	// ErrUntrusted.
	ErrHostKeyChanged = fmt.Errorf("%w: changed host key", ErrUntrusted)
	// ErrRepositoryNotFound: the server has no such repository, or hides it.
	ErrRepositoryNotFound = errors.New("no such repository")
	// ErrReferenceNotFound: the repository has no such branch, tag, version or commit.
	ErrReferenceNotFound = errors.New("no such reference")
	// ErrTooLarge: the repository or a file exceeds a bound of Options.
	ErrTooLarge = errors.New("too large")
	// ErrPath: a file can't be used, since it is a submodule, a link that leaves the
	// repository, or kept in Git LFS.
	ErrPath = errors.New("unusable path")
	// ErrSignature: no good signature by a known key. The next five say why.
	ErrSignature = errors.New("no good signature")
	// ErrUnsigned: there is no signature at all.
	ErrUnsigned = fmt.Errorf("%w: unsigned", ErrSignature)
	// ErrUnknownKey: none of the keys has made the signature.
	ErrUnknownKey = fmt.Errorf("%w: unknown key", ErrSignature)
	// ErrBrokenSignature: the signature isn't one of this content.
	ErrBrokenSignature = fmt.Errorf("%w: broken", ErrSignature)
	// ErrExpiredKey: the key has expired, is revoked, or isn't valid yet.
	ErrExpiredKey = fmt.Errorf("%w: expired key", ErrSignature)
	// ErrWrongName: a tag object bears another name than the tag that leads to it.
	ErrWrongName = fmt.Errorf("%w: signed under another name", ErrSignature)
	// ErrNotDescendant: the commit doesn't descend from the one in force.
	ErrNotDescendant = errors.New("not a descendant")
	// ErrHistoryUnknown: whether it does can't be known.
	ErrHistoryUnknown = errors.New("unknown history")
)

// maxErrorText bounds what a server's own words may add to an error.
const maxErrorText = 300

// Error is why a repository or a file of it can't be read.
type Error struct {
	// Kind is one of the errors of this package.
	Kind error
	// Revision is what was found, and isn't taken, where it is that which is wrong.
	Revision string

	message string
	cause   error
}

// Error says what is wrong and what to do. It never holds a credential.
func (e *Error) Error() string { return e.message }

func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

func failf(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, message: fmt.Sprintf(format, args...)}
}

// because is failf with a cause that callers may ask for. What the cause says
// isn't added: it may be a server's.
func because(cause, kind error, format string, args ...any) *Error {
	e := failf(kind, format, args...)
	e.cause = cause
	return e
}

func words(text string) string {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, line)
	return prose.Shorten(line, maxErrorText)
}
