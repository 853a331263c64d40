// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// Reviews of 18 MB, as updates of 1.5 MB can be, arrive one after the other over a
// real connection: what one of them held of its windows is given back.
func TestLargeReviewsArrive(t *testing.T) {
	reader := NewReader(256 << 20)
	read := make(chan error, 10)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		review, err := reader.Read(ctx, w, r, time.Unix(1e9, 0))
		if err == nil && review.Unread != nil {
			err = review.Unread
		}
		if err == nil {
			review.Done()
		}
		read <- err
	})
	address, stop := serve(t, clock.RealClock{}, handler)
	object := `{"data":{"a":"` + strings.Repeat(`\u003c`, 1_450_000) + `"}}`
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":` + object +
		`,"oldObject":` + object + `}}`
	// it is offered, and not taken
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	for range 3 {
		answer, err := client.Post("https://"+address+"/", "application/json", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if err := <-read; err != nil || answer.ProtoMajor != 1 {
			t.Errorf("%v, over %s", err, answer.Proto)
		}
	}
	stop()
}

// serve starts a server with a certificate of its own. stop ends it.
func serve(t *testing.T, now clock.Clock, handler http.Handler) (address string, stop func()) {
	t.Helper()
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	t.Cleanup(certificate.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	_ = listener.Close()
	s := &Server{Address: address, Handlers: map[string]http.Handler{"/": handler},
		TLS: &tls.Config{Certificates: certificate.TLS.Certificates}, Clock: now}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	for s.Check(nil) != nil {
		if t.Context().Err() != nil {
			t.Fatal("no server")
		}
	}
	return address, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// An API server has hundreds of requests in flight, each on a connection of its own:
// all are answered.
func TestManyRequestsOfOneAddressAreInFlight(t *testing.T) {
	const requests = 300
	var inside atomic.Int32
	all := make(chan struct{})
	address, stop := serve(t, clock.RealClock{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if inside.Add(1) == requests {
			close(all)
		}
		<-all
	}))
	client := &http.Client{Timeout: time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	failed := make(chan error, requests)
	for range requests {
		go func() {
			answer, err := client.Post("https://"+address+"/", "application/json", strings.NewReader("{}"))
			if err == nil {
				err = answer.Body.Close()
			}
			failed <- err
		}()
	}
	for range requests {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	client.CloseIdleConnections()
	stop()
}
