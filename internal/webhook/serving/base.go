// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Base is what every endpoint reads, counts and logs with.
type Base struct {
	// Reviews reads them, within its bounds.
	Reviews *Reader
	Metrics *Metrics
	Clock   clock.PassiveClock
	// Timeout is how long the API server waits at most. Zero means DefaultTimeout.
	Timeout time.Duration
	// Log is bounded: anybody may bring about what is logged.
	Log logr.Logger
}

// Serve answers the review of one of Evenkeel's own kinds by what answer says of it. One
// that can't be read is refused: these kinds fail closed.
func (b *Base) Serve(w http.ResponseWriter, r *http.Request, endpoint string,
	answer func(context.Context, *policy.Request) Response) {
	b.ServeReview(w, r, endpoint, func(ctx context.Context, review *Review) (resp Response, decision string) {
		if review.Unread != nil {
			return b.refuseUnread(endpoint, review), DecisionUnread
		}
		resp = answer(ctx, review.Request)
		resp.UID = review.UID
		return resp, resp.decision()
	})
}

// ServeReview answers a review by what answer makes of it, read or not.
func (b *Base) ServeReview(w http.ResponseWriter, r *http.Request, endpoint string,
	answer func(context.Context, *Review) (resp Response, decision string)) {
	start := b.Clock.Now()
	limit := Budget(r, b.Timeout)
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	review, err := Read(ctx, b.Reviews, w, r, limit, start)
	if err != nil {
		ServeMalformed(w, err)
		b.Metrics.Answered(endpoint, nil, DecisionBad, b.Clock.Since(start))
		b.Log.Info("A request isn't an admission review, so it isn't judged", "endpoint", endpoint, "from",
			r.RemoteAddr, "reason", err.Error())
		return
	}
	defer review.Done()
	resp, decision := answer(ctx, review)
	b.Metrics.Answered(endpoint, review.Request, decision, b.Clock.Since(start))
	if err := Write(w, resp); err != nil {
		b.Log.Error(err, "An admission request stays unanswered", "endpoint", endpoint, "uid", review.UID)
	}
}

func (b *Base) refuseUnread(endpoint string, review *Review) Response {
	b.Metrics.Unread(endpoint, review.Unread.Reason, OutcomeRefused)
	b.Log.Info("An object of Evenkeel's own couldn't be read, so it is refused", "endpoint", endpoint, "name",
		review.Name, "reason", review.Unread.Error())
	return Response{UID: review.UID,
		Status: UnreadStatus(review, Describe(review.Request)+" is refused because it can't be checked: "+
			review.Unread.Error())}
}
