// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// overTLS serves over TLS, HTTP/2 too, and gives the authority of its certificate.
func overTLS(t *testing.T, answer http.HandlerFunc) (string, *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := x509.NewCertPool()
	authority.AddCert(server.Certificate())
	return server.URL, authority
}

func TestReviewsAreSentAsTheAPIServerSendsThem(t *testing.T) {
	url, authority := overTLS(t, func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, r.Proto+" "+string(text))
	})
	for http2, want := range map[bool]string{false: "HTTP/1.1 review", true: "HTTP/2.0 review"} {
		got, err := newPoster(url, authority, http2).answer(t.Context(), []byte("review"))
		if err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

func TestAnErrorIsNoAnswer(t *testing.T) {
	url, authority := overTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too busy", http.StatusServiceUnavailable)
	})
	_, err := newPoster(url, authority, false).answer(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "too busy") {
		t.Errorf("it says %v", err)
	}
}

func TestRequestsAreSentAtTheirRateWhetherOthersAreAnsweredOrNot(t *testing.T) {
	all := make(chan struct{})
	took, err := atRate(t.Context(), 1000, 100*time.Millisecond, 1, func(_ context.Context, n int) error {
		if n == 30 {
			close(all) // the first are answered only now
		}
		<-all
		return nil
	})
	if err != nil || len(took) < 60 || len(took) > 140 {
		t.Errorf("%d requests, %v; about 100 are due", len(took), err)
	}
	if slices.Min(took) > slices.Max(took)/2 {
		t.Errorf("they took from %s to %s: the first waited for the 30th", slices.Min(took), slices.Max(took))
	}
}

func TestARequestThatFailsEndsTheLoad(t *testing.T) {
	wrong := errors.New("wrong")
	began := time.Now()
	_, err := atRate(t.Context(), 1000, time.Hour, 1, func(context.Context, int) error { return wrong })
	if !errors.Is(err, wrong) || time.Since(began) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if _, err := atRate(t.Context(), 1, time.Nanosecond, 1, nil); err == nil {
		t.Error("a load without a request has figures")
	}
}

func TestPercentiles(t *testing.T) {
	var values []time.Duration
	for i := range 200 {
		values = append(values, time.Duration(200-i))
	}
	for of, want := range map[float64]time.Duration{50: 100, 99: 198, 100: 200, 0: 1} {
		if got := percentile(values, of); got != want {
			t.Errorf("%v: %d, want %d", of, got, want)
		}
	}
	if got := percentile(nil, 99); got != 0 {
		t.Errorf("of none: %d", got)
	}
}

func TestTheProcessorsOfAProcessAreCounted(t *testing.T) {
	before, err := cpuOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 30*time.Millisecond; {
		_ = percentile([]time.Duration{2, 1}, 50)
	}
	after, err := cpuOf(os.Getpid())
	if err != nil || after <= before || after-before > time.Minute {
		t.Errorf("from %s to %s, %v", before, after, err)
	}
	if _, err := cpuOf(1 << 28); err == nil {
		t.Error("a process that there isn't has had something")
	}
}
