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
	// headBytes are read of each review before memory is reserved; the number of connections bounds what they take.
	// Most reviews end within. Of the others, the head says who requests what.
	headBytes = 64 << 10
	// maxSmallCost is the most that a small review costs. A usual object of headBytes costs less.
	maxSmallCost = 2 << 20
)

// Reader reads reviews, and bounds the memory that all of them take until they are answered. It is safe for concurrent
// use.
//
// Without the bound, a few requests of 3 MB at once end the process: `{},` takes a thousand bytes once it is decoded.
// Three pools share the memory, so that small reviews, which are nearly all, never wait for large ones, and no review
// that has arrived waits for slow senders:
//   - arriving, by bytes of text, while more than headBytes of a review arrive;
//   - small and large, by cost, once the text is there and until the review is answered.
type Reader struct {
	arriving, small, large pool
	// longest is the most text that is read of a review.
	longest int64
	// decode is replaced by tests.
	decode func(text []byte, why *Unread) (*Review, error)
}

// pool is a semaphore that knows its size in bytes.
type pool struct {
	*semaphore.Weighted
	size int64
}

func newPool(size int64) pool { return pool{semaphore.NewWeighted(size), size} }

// NewReaders returns the Reader of the reviews that policies judge, and one for Evenkeel's own kinds, which then never
// wait for the others. Together they reserve at most this many bytes: three quarters and one quarter.
func NewReaders(memory int64) (judged, own *Reader) {
	return NewReader(memory - memory/4), NewReader(memory / 4)
}

// NewReader returns a Reader that reserves at most this many bytes: an eighth for small reviews, a quarter for texts
// that arrive, five eighths for large reviews. A text costs at least textCost a byte, so none over a third of the large
// pool (5/24 of the memory) is read, and what is read fits the quarter. Of 192 MiB, the large pool has 120, enough for
// maxBody of strings.
func NewReader(memory int64) *Reader {
	small, arriving := memory/8, memory/4
	large := memory - small - arriving
	return &Reader{arriving: newPool(arriving), small: newPool(small), large: newPool(large),
		longest: min(maxBody, large/textCost), decode: decode}
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
	decoded := false
	defer func() {
		if !decoded { // it is refused, or decode panics
			release()
		}
	}()
	review, err := r.decode(text, why)
	if err != nil {
		if why != nil {
			err = fmt.Errorf("%w: %w", err, why)
		}
		return nil, &Refused{statusOf(why), err}
	}
	decoded = true
	review.Now, review.release = now, release
	return review, nil
}

// admit reads the text of a review and reserves memory for what it holds. If it can't, it returns why, and the
// beginning of the text.
func (r *Reader) admit(ctx context.Context, req *http.Request) (text []byte, release func(), why *Unread, err error) {
	length := req.ContentLength
	if length < 0 {
		length = headBytes + 1
	}
	head := make([]byte, min(length, headBytes))
	n, err := io.ReadFull(req.Body, head)
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case err != nil && !ended:
		return nil, nil, nil, fmt.Errorf("reading the review: %w", err)
	case ended || length == int64(n):
		release, why = r.reserve(ctx, cost(head[:n]))
		return head[:n], release, why, nil
	}
	text, release, why = r.rest(ctx, req, head)
	return text, release, why, nil
}

// rest reads what follows the head. The text counts as arriving until what it holds is reserved.
func (r *Reader) rest(ctx context.Context, req *http.Request, head []byte) ([]byte, func(), *Unread) {
	length := req.ContentLength
	if length < 0 {
		length = r.longest
	}
	if length > r.longest {
		return head, func() {}, tooLarge(r.longest)
	}
	if r.arriving.Acquire(ctx, length) != nil {
		return head, func() {}, busy()
	}
	defer r.arriving.Release(length)
	text, why := readRest(req, head, length)
	if why != nil {
		return head, func() {}, why
	}
	// A chunked text keeps the whole buffer.
	release, why := r.reserve(ctx, cost(text)+int64(cap(text)-len(text)))
	if why != nil {
		return head, release, why
	}
	return text, release, nil
}

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
		return nil, tooLarge(length)
	}
	return text, nil
}

// reserve waits until the weight fits the pool of its size, or ctx ends.
func (r *Reader) reserve(ctx context.Context, weight int64) (release func(), why *Unread) {
	of := r.large
	switch {
	case weight > r.large.size:
		return func() {}, unread(TooMany, "its objects hold more values than there is memory for (%d MiB of %d MiB)",
			weight>>20, r.large.size>>20)
	case weight <= min(maxSmallCost, r.small.size):
		of = r.small
	}
	if of.Acquire(ctx, weight) != nil {
		return func() {}, busy()
	}
	return func() { of.Release(weight) }, nil
}

func busy() *Unread { return unread(Busy, "more requests wait to be judged than can be in time") }

func tooLarge(longest int64) *Unread {
	return unread(TooLarge, "its review has more than %d MiB, more than is read", longest>>20)
}

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
