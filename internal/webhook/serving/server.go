// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// How long a client may take, and what a connection of it may hold. The API server
// waits 30 seconds at most.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second
	// idleTimeout outlasts that of the API server, 90 seconds, so that it is the client
	// who closes a connection that rests: it knows that it sends nothing just then.
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = time.Minute
	dialTimeout     = 10 * time.Second
	maxHeaderBytes  = 32 << 10
)

// Server serves webhooks over TLS. Whoever connects is bounded in connections before
// a byte of a review is read; controller-runtime's server has no such bound. It speaks
// HTTP/1.1 alone, as the API server does to webhooks in the cluster: a connection then
// carries one request, of which nothing is buffered that isn't asked for.
type Server struct {
	// Address is where it listens.
	Address string
	// Handlers are by the path that they serve.
	Handlers map[string]http.Handler
	// TLS has the certificate, and what clients must show.
	TLS *tls.Config
	// Log takes what goes wrong with connections.
	Log *log.Logger
	// Clock measures how long connections rest.
	Clock clock.Clock

	started atomic.Bool
	own     ownConnections
}

// Start serves until ctx ends, and then until those who are connected have been told to
// connect to another replica, and the requests in flight are answered.
func (s *Server) Start(ctx context.Context) error {
	inner, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listening for admission reviews: %w", err)
	}
	open := newDrain(s.Clock)
	server := s.server()
	server.Handler, server.ConnState = open.handler(server.Handler), open.observe
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		open.run()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		stopped <- server.Shutdown(within)
	}()
	s.started.Store(true)
	if err := server.ServeTLS(newListener(inner), "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving admission reviews: %w", err)
	}
	return <-stopped
}

func (s *Server) server() *http.Server {
	mux := http.NewServeMux()
	for path, handler := range s.Handlers {
		mux.Handle(path, handler)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: mux, TLSConfig: s.TLS, Protocols: &protocols,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: 2 * requestTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: s.own.without(s.Log),
	}
}

// Check says whether connections are taken. It doesn't ask whose certificate is
// served.
func (s *Server) Check(r *http.Request) error {
	if !s.started.Load() {
		return errors.New("the webhook server has not been started yet")
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	if r != nil {
		ctx, cancel = context.WithTimeout(r.Context(), dialTimeout)
	}
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("the webhook server is not reachable: %w", err)
	}
	defer func() { _ = conn.Close() }()
	s.own.add(conn.LocalAddr().String())
	if err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx); err != nil {
		return fmt.Errorf("the webhook server is not reachable: %w", err)
	}
	return nil
}

// ConnectionLog takes what goes wrong with connections, for example that a client
// can't show a certificate, to a bounded logger.
func ConnectionLog(to logr.Logger) *log.Logger {
	return log.New(&connectionLog{to: to}, "", 0)
}

type connectionLog struct {
	to logr.Logger
}

func (c *connectionLog) Write(line []byte) (int, error) {
	c.to.Info("A connection to the webhook failed", "reason", strings.TrimSpace(string(line)))
	return len(line), nil
}

func host(address string) string {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return name
}
