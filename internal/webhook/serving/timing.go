// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"net/http"
	"time"
)

// DefaultTimeout is how long the API server waits for an answer.
const DefaultTimeout = 5 * time.Second

// Read reads a review. It takes half of the time at most, so that the other half is
// left to judge in.
func Read(ctx context.Context, from *Reader, w http.ResponseWriter, r *http.Request, limit time.Duration,
	now time.Time) (*Review, error) {
	ctx, cancel := context.WithTimeout(ctx, limit/2)
	defer cancel()
	return from.Read(ctx, w, r, now)
}

// Budget is the time to judge in: what the API server allows (it says so in the
// timeout parameter), less a tenth for the way there and back, so that it's
// Evenkeel that says which policy was too slow.
func Budget(r *http.Request, limit time.Duration) time.Duration {
	if limit <= 0 {
		limit = DefaultTimeout
	}
	if asked, err := time.ParseDuration(r.URL.Query().Get("timeout")); err == nil && asked > 0 {
		limit = min(limit, asked)
	}
	return limit - limit/10
}
