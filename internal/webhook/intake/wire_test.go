package intake

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Reviews of 18 MB, as updates of 1.5 MB can be, arrive one after the other over a
// real connection: what one of them held of its windows is given back.
func TestLargeReviewsArrive(t *testing.T) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	reader := NewReader(DefaultBounds(256<<20, 2))
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
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	s := &Server{Address: address, Handlers: map[string]http.Handler{"/": handler}, TLS: &tls.Config{Certificates: certificate.TLS.Certificates}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	for s.Check(nil) != nil {
		if t.Context().Err() != nil {
			t.Fatal("no server")
		}
	}
	object := `{"data":{"a":"` + strings.Repeat(`\u003c`, 1_450_000) + `"}}`
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":` + object + `,"oldObject":` + object + `}}`
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	for range 3 {
		answer, err := client.Post("https://"+address+"/", "application/json", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if err := <-read; err != nil || answer.ProtoMajor != 2 {
			t.Errorf("%v, over %s", err, answer.Proto)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
