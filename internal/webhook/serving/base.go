// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"net/http"

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
	// Log is bounded: anybody may bring about what is logged.
	Log logr.Logger
}

// Serve answers the review of one of Evenkeel's own kinds by what answer says of it. One
// that can't be read is refused: these kinds fail closed.
func (b *Base) Serve(w http.ResponseWriter, r *http.Request, endpoint string,
	answer func(context.Context, *policy.Request) (resp Response, decision string)) {
	start := b.Clock.Now()
	review, err := Read(r.Context(), b.Reviews, w, r, Budget(r, DefaultTimeout), start)
	if err != nil {
		ServeMalformed(w, err)
		b.Metrics.Answered(endpoint, nil, DecisionBad, b.Clock.Since(start))
		return
	}
	defer review.Done()
	req := review.Request
	var resp Response
	decision := DecisionUnread
	if review.Unread != nil {
		resp = b.refuseUnread(endpoint, review)
	} else {
		resp, decision = answer(r.Context(), req)
	}
	b.Metrics.Answered(endpoint, req, decision, b.Clock.Since(start))
	if err := Write(w, resp); err != nil {
		b.Log.Error(err, "An admission request stays unanswered", "endpoint", endpoint, "name", req.Name)
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
