// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// lines hands on what is logged, line by line.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// A server that asks for a certificate refuses its own check as it refuses strangers, and
// must log the strangers alone.
func TestTheServersOwnChecksAreNotLogged(t *testing.T) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	t.Cleanup(certificate.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	logged := make(lines, 1000)
	s := &Server{Address: listener.Addr().String(), Handlers: map[string]http.Handler{}, Log: log.New(logged, "", 0),
		Clock: clock.RealClock{},
		TLS: &tls.Config{Certificates: certificate.TLS.Certificates, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: x509.NewCertPool()}}
	_ = listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	for s.Check(nil) != nil {
		if t.Context().Err() != nil {
			t.Fatal("no server")
		}
	}
	for range 5 {
		if err := s.Check(nil); err != nil {
			t.Fatal(err)
		}
	}
	stranger, err := net.Dial("tcp", s.Address)
	if err != nil {
		t.Fatal(err)
	}
	tlsConn := tls.Client(stranger, &tls.Config{InsecureSkipVerify: true})
	_ = tlsConn.Handshake()
	if _, err := tlsConn.Read(make([]byte, 1)); err == nil {
		t.Error("a stranger is let in")
	}
	if line := <-logged; !strings.Contains(line, " from "+stranger.LocalAddr().String()+":") {
		t.Errorf("logged %q, want the stranger's address %s", line, stranger.LocalAddr())
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(logged) > 0 {
		t.Errorf("logged besides: %q", <-logged)
	}
}
