// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBody bounds the text of a review, so that it holds any object that the API server takes. The API server reads
	// requests of at most 3 MiB (MaxRequestBodyBytes in k8s.io/apiserver/pkg/server/config.go), twice the 1.5 MiB that
	// etcd stores (--max-request-bytes), and writes each byte of a string as six at most ("<" as "\u003c"). An update
	// has two such objects. The last MiB is for the other fields, and for defaults.
	maxBody = 2*6*(3<<20) + 1<<20
	// headBytes are read of each review before memory is reserved. Most reviews end within. Of the others, the head
	// says who requests what.
	headBytes = 64 << 10
)

// Reader reads reviews, and bounds the memory that all of them take until they are answered. It is safe for concurrent
// use.
//
// Without the bound, a few requests of 3 MB at once end the process: `{},` takes a thousand bytes once it is decoded.
// Reviews of more than headBytes have a bound of their own, so that small ones, which are nearly all, never wait for
// large ones or for slow senders.
type Reader struct {
	small, large           *semaphore.Weighted
	smallBytes, largeBytes int64
}

// NewReader returns a Reader that reserves at most this many bytes.
func NewReader(memory int64) *Reader {
	small := memory / 4
	large := memory - small
	return &Reader{small: semaphore.NewWeighted(small), large: semaphore.NewWeighted(large),
		smallBytes: small, largeBytes: large}
}

// Refused is an HTTP request that isn't a review, with the status to say so.
type Refused struct {
	Status int
	err    error
}

func (b *Refused) Error() string { return b.err.Error() }
func (b *Refused) Unwrap() error { return b.err }

// Read reads one review. It returns an error, a *Refused, only if the request doesn't say who requests what. A review
// whose objects can't be read says so in Unread. Read waits for memory and for the sender until ctx ends.
func (r *Reader) Read(ctx context.Context, w http.ResponseWriter, req *http.Request, now time.Time) (*Review, error) {
	if req.Method != http.MethodPost {
		return nil, &Refused{http.StatusMethodNotAllowed,
			fmt.Errorf("method %s: send the AdmissionReview with POST", req.Method)}
	}
	if media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &Refused{http.StatusUnsupportedMediaType,
			fmt.Errorf("content type %q: send application/json", req.Header.Get("Content-Type"))}
	}
	if deadline, ok := ctx.Deadline(); ok {
		// Not every writer has a connection below it; then there is none to wait for.
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
	}
	text, release, why, err := r.admit(ctx, req)
	if err != nil {
		return nil, &Refused{http.StatusBadRequest, err}
	}
	review, err := decode(text, why)
	if err != nil {
		release()
		if why != nil {
			err = fmt.Errorf("%w: %w", err, why)
		}
		return nil, &Refused{statusOf(why), err}
	}
	review.Now, review.release = now, release
	return review, nil
}

// admit reads the text of a review and reserves memory for what it holds. If it can't, it returns why, and the
// beginning of the text.
func (r *Reader) admit(ctx context.Context, req *http.Request) (text []byte, release func(), why *Unread, err error) {
	length := req.ContentLength
	if length < 0 {
		length = maxBody + 1
	}
	head := make([]byte, min(length, headBytes))
	n, err := io.ReadFull(req.Body, head)
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case err != nil && !ended:
		return nil, nil, nil, fmt.Errorf("reading the review: %w", err)
	case ended || length == int64(n):
		release, why = reserve(ctx, r.small, min(cost(head[:n]), r.smallBytes))
		return head[:n], release, why, nil
	}
	text, release, why = r.rest(ctx, req, head)
	return text, release, why, nil
}

// rest reads what follows the head. Until it knows what the review holds, it reserves as much as the densest text of
// that length takes.
func (r *Reader) rest(ctx context.Context, req *http.Request, head []byte) ([]byte, func(), *Unread) {
	length := req.ContentLength
	if length > maxBody {
		return head, func() {}, tooLarge()
	}
	if length < 0 {
		length = maxBody
	}
	reserved := min(densestText*length, r.largeBytes)
	release, why := reserve(ctx, r.large, reserved)
	if why != nil {
		return head, release, why
	}
	text, why := readRest(req, head, length)
	needed := cost(text)
	if why == nil && needed > r.largeBytes {
		why = unread(TooMany, "its objects hold more values than there is memory for (%d MiB of %d MiB)", needed>>20,
			r.largeBytes>>20)
	}
	if why != nil {
		release()
		return head, func() {}, why
	}
	r.large.Release(reserved - needed)
	return text, func() { r.large.Release(needed) }, nil
}

// readRest reads what follows the head of a review, up to a length.
func readRest(req *http.Request, head []byte, length int64) ([]byte, *Unread) {
	text := make([]byte, length)
	n := copy(text, head)
	more, err := io.ReadFull(req.Body, text[n:])
	text = text[:n+more]
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case err != nil && (!ended || req.ContentLength >= 0):
		return nil, unread(Incomplete, "its review didn't arrive whole in time: %v", err)
	case err == nil && req.ContentLength < 0:
		return nil, tooLarge()
	}
	return text, nil
}

// reserve waits until the weight fits, or ctx ends.
func reserve(ctx context.Context, of *semaphore.Weighted, weight int64) (release func(), why *Unread) {
	if of.Acquire(ctx, weight) != nil {
		return func() {}, unread(Busy, "more requests wait to be judged than can be in time")
	}
	return func() { of.Release(weight) }, nil
}

func tooLarge() *Unread {
	return unread(TooLarge, "its review has more than %d MiB, more than is read", maxBody>>20)
}

// statusOf is the status of what isn't known to be a review.
func statusOf(why *Unread) int {
	switch {
	case why == nil:
		return http.StatusBadRequest
	case why.Reason == TooLarge:
		return http.StatusRequestEntityTooLarge
	case why.Reason == Busy:
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}
