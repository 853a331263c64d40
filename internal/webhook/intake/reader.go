// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/webhook/intake/jsonvalue"
)

// MaxDepth is how deep an object may be nested, the limit of the API server's own
// decoder. The review around it adds two, so it is decoded by itself.
const MaxDepth = 10000

// Bounds are how much memory reviews may take, and how many are judged at once.
type Bounds struct {
	// Memory is for all reviews together, in bytes.
	Memory int64
	// Review is the most bytes that one review may have.
	Review int64
	// Processors is how many judge at once on this machine.
	Processors int
}

// DefaultBounds fit the limit of config/manager. An object that etcd stores (1.5
// MiB at most unless set otherwise) is sent as at most nine: the API server writes
// "<" as six bytes. An update sends two, with what defaults add to both.
func DefaultBounds(memory int64, processors int) Bounds {
	return Bounds{Memory: memory, Review: min(maxReview, memory/5), Processors: max(1, processors)}
}

const (
	// maxReview bounds the text of one review.
	maxReview = 40 << 20
	// prefixBytes are read of each review before anything is reserved: most reviews
	// end within, and of the others it tells who asks.
	prefixBytes = 16 << 10
	// smallCost is the memory up to which a review counts as small.
	smallCost = 4 << 20
	// maxWaiting bounds how many reviews wait for room.
	maxWaiting = 512
)

// Reader reads reviews within its bounds. It is safe for concurrent use.
type Reader struct {
	bounds Bounds
	// arriving shares out the memory for prefixes, between addresses.
	arriving *Queue
	// reading shares out the memory for the text of reviews that are longer than a
	// prefix, while they arrive; small and large that for what they hold. What is
	// small never waits for what is large.
	reading, small, large *Queue
	decoder               jsonvalue.Decoder
	// prefixes are buffers for them.
	prefixes sync.Pool
}

// NewReader makes a reader. A fifth of the memory is for text, half as much for what
// begins to arrive, as much for small reviews, and the rest for large ones.
func NewReader(b Bounds) *Reader {
	fifth := b.Memory / 5
	return &Reader{
		bounds:   b,
		arriving: &Queue{Capacity: max(fifth/2, prefixBytes), Slots: 2048, Waiting: 2048},
		reading:  &Queue{Capacity: fifth, Slots: 64, Waiting: maxWaiting},
		small:    &Queue{Capacity: fifth, Slots: max(8, 4*b.Processors), Waiting: maxWaiting},
		large:    &Queue{Capacity: 5 * fifth / 2, Slots: max(2, b.Processors), Waiting: maxWaiting},
	}
}

// Load is how much memory is reserved now, and how many reviews wait for some.
func (r *Reader) Load() (reserved int64, waiting int) {
	for _, q := range []*Queue{r.arriving, r.reading, r.small, r.large} {
		weight, n := q.Load()
		reserved, waiting = reserved+weight, waiting+n
	}
	return reserved, waiting
}

// Refused is an HTTP request that isn't a review, with the status to say so.
type Refused struct {
	Status int
	err    error
}

func (b *Refused) Error() string { return b.err.Error() }
func (b *Refused) Unwrap() error { return b.err }

// Read reads one review. It errs, with a *Refused, only when it can't be told who
// asks about what; a review whose objects can't be read says so in Unread. It waits
// for room until ctx ends.
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
	arrival := &arrival{reader: r, body: req.Body, length: req.ContentLength, key: Key{Peer: peer(req)}}
	review, err := arrival.read(ctx)
	if err != nil {
		return nil, &Refused{statusOf(err), err}
	}
	review.Now = now
	return review, nil
}

func statusOf(err error) int {
	var why *Unread
	switch {
	case !errors.As(err, &why):
		return http.StatusBadRequest
	case why.Reason == TooLarge:
		return http.StatusRequestEntityTooLarge
	case why.Reason == Busy:
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}

// peer is the address that a request comes from.
func peer(r *http.Request) string { return host(r.RemoteAddr) }
