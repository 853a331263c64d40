// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// kept is a connection that a client keeps open, as an API server does.
type kept struct {
	*tls.Conn
	answers *bufio.Reader
}

func keep(t *testing.T, address string) *kept {
	t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("a connection is lost: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &kept{Conn: conn.(*tls.Conn), answers: bufio.NewReader(conn)}
}

// ask sends a review and says whether the answer ends the connection.
func (k *kept) ask(t *testing.T) bool {
	t.Helper()
	if _, err := io.WriteString(k, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatalf("a request is lost: %v", err)
	}
	answer, err := http.ReadResponse(k.answers, nil)
	if err != nil {
		t.Fatalf("a request is lost: %v", err)
	}
	_ = answer.Body.Close()
	return answer.Close
}

func TestAServerThatEndsLosesNoRequest(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	address, stop := serve(t, now, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	used, resting := keep(t, address), keep(t, address)
	if used.ask(t) || resting.ask(t) {
		t.Fatal("a server that runs ends connections")
	}
	ended := make(chan struct{})
	go func() {
		stop()
		close(ended)
	}()
	// No time passes, so however late a request comes, its connection is open.
	for !used.ask(t) {
		if t.Context().Err() != nil {
			t.Fatal("no answer ends its connection")
		}
	}
	if !keep(t, address).ask(t) {
		t.Error("a connection made while the server ends is kept")
	}
	select {
	case <-ended:
		t.Fatal("the server hasn't waited for who may use a connection")
	default:
	}
	if !resting.ask(t) {
		t.Error("a connection that rested is kept")
	}
	<-ended // none is left to wait for: no time has passed
}

func TestAServerThatEndsWaitsForNobodyForLong(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		within time.Duration
		hold   bool
	}{
		"a connection that nobody uses":   {reason: "it may be closed once it has rested", within: drainQuiet},
		"a connection that a request has": {reason: "Shutdown waits for it", within: drainTimeout, hold: true},
	} {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakeClock(time.Unix(1e9, 0))
			d := newDrain(now)
			d.observe(nil, http.StateIdle)
			now.Step(time.Hour) // it has rested before, and may be the next that is used all the same
			if tc.hold {
				d.observe(nil, http.StateActive)
			}
			ended := make(chan struct{})
			go func() {
				d.run()
				close(ended)
			}()
			began := now.Now()
			for running := true; running; {
				select {
				case <-ended:
					running = false
				default:
					if now.HasWaiters() {
						now.Step(100 * time.Millisecond)
					}
				}
			}
			if got := now.Since(began); got < tc.within {
				t.Errorf("it waited for %s, want %s: %s", got, tc.within, tc.reason)
			}
		})
	}
}
