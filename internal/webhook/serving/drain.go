// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// How a server that is to end lets go of its connections. Closing one that is used just
// then loses a request: HTTP/1.1 has no way to announce it, and no client sends a POST
// twice. So an answer announces the end of its connection, and only those are closed
// unasked that nobody has used for a while.
const (
	// drainQuiet is for how long, of the drain, a connection isn't used that is closed. How
	// long it rested before says nothing: a client takes the connection that it used last,
	// and with those ended comes to the ones that rested.
	drainQuiet = 2 * time.Second
	// drainTimeout bounds the whole: new connections may come all the time. It leaves
	// most of --graceful-shutdown-timeout to requests in flight.
	drainTimeout = 5 * time.Second
)

// drain knows which connections are open, and ends them with the answers that they carry.
type drain struct {
	clock clock.Clock
	// changed tells that a connection has begun or ended something.
	changed chan struct{}

	mu sync.Mutex
	// begun is when the drain began, if it has.
	begun time.Time
	// open has for each connection since when it has carried no request; busy ones have
	// no time.
	open map[net.Conn]time.Time
}

func newDrain(c clock.Clock) *drain {
	return &drain{clock: c, changed: make(chan struct{}, 1), open: map[net.Conn]time.Time{}}
}

// observe is the server's ConnState.
func (d *drain) observe(conn net.Conn, state http.ConnState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		d.open[conn] = d.clock.Now()
	case http.StateActive:
		d.open[conn] = time.Time{}
	case http.StateClosed, http.StateHijacked:
		delete(d.open, conn)
	}
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// handler has each answer end its connection once the drain has begun.
func (d *drain) handler(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		begun := d.begun
		d.mu.Unlock()
		if !begun.IsZero() {
			w.Header().Set("Connection", "close")
		}
		inner.ServeHTTP(w, r)
	})
}

// run begins the drain, and returns when every connection that is left has been quiet,
// or the time is up.
func (d *drain) run() {
	d.mu.Lock()
	d.begun = d.clock.Now()
	d.mu.Unlock()
	end := d.clock.NewTimer(drainTimeout)
	defer end.Stop()
	for {
		left := d.left()
		if left <= 0 {
			return
		}
		quiet := d.clock.NewTimer(left)
		select {
		case <-end.C():
			quiet.Stop()
			return
		case <-quiet.C():
		case <-d.changed:
			quiet.Stop()
		}
	}
}

// left is how long it takes at least until every open connection has been quiet.
func (d *drain) left() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	var longest time.Duration
	for _, since := range d.open {
		left := drainQuiet
		if since.Before(d.begun) && !since.IsZero() {
			since = d.begun
		}
		if !since.IsZero() {
			left -= d.clock.Since(since)
		}
		longest = max(longest, left)
	}
	return longest
}
