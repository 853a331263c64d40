// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/internal/kube"
)

// apiServer answers every request with the status that it is set to, and a client
// of it is watched.
type apiServer struct {
	t           *testing.T
	status      int
	client      *rest.RESTClient
	credentials *kube.Credentials
	clock       *clocktesting.FakeClock
	registry    *prometheus.Registry
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		registry: prometheus.NewPedanticRegistry()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(a.status)
	}))
	t.Cleanup(server.Close)
	var err error
	if a.credentials, err = kube.NewCredentials(a.clock, 5*time.Minute, a.registry, logr.Discard()); err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: server.URL,
		ContentConfig: rest.ContentConfig{
			GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()}}
	config.Wrap(a.credentials.Watch)
	if a.client, err = rest.RESTClientFor(config); err != nil {
		t.Fatal(err)
	}
	return a
}

// answers has the server answer a request with a status.
func (a *apiServer) answers(status int) error {
	a.status = status
	return a.client.Get().AbsPath("/api/v1/namespaces/x").MaxRetries(0).Do(a.t.Context()).Error()
}

func (a *apiServer) requireRefused(want float64, total float64) {
	a.t.Helper()
	families, err := a.registry.Gather()
	if err != nil {
		a.t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		got[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	if got["evenkeel_api_credentials_refused"] != want || got["evenkeel_api_unauthorized_total"] != total {
		a.t.Errorf("got %v, want %v refused and %v in total", got, want, total)
	}
}

func TestARefusalOfCredentialsIsSeen(t *testing.T) {
	a := newAPIServer(t)
	if err := a.answers(http.StatusForbidden); kube.Classify(err) != kube.Forbidden {
		t.Fatalf("got %v", err)
	}
	a.requireRefused(0, 0)
	if err := a.answers(http.StatusUnauthorized); kube.Classify(err) != kube.Transient {
		t.Errorf("it is tried again by whoever asked: got %v", err)
	}
	a.requireRefused(1, 1)
	_ = a.answers(http.StatusServiceUnavailable)
	_ = a.answers(http.StatusTooManyRequests)
	a.requireRefused(1, 1)
	_ = a.answers(http.StatusUnauthorized)
	a.requireRefused(1, 2)
	_ = a.answers(http.StatusNotFound)
	a.requireRefused(0, 2)
	if problems, err := testutil.GatherAndLint(a.registry); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

func TestAManagerEndsWhoseCredentialsStayRefused(t *testing.T) {
	a := newAPIServer(t)
	ended := make(chan error, 1)
	go func() { ended <- a.credentials.Start(t.Context()) }()
	pass := func(d time.Duration) {
		for !a.clock.HasWaiters() {
			runtime.Gosched()
		}
		for range d / time.Minute {
			a.clock.Step(time.Minute)
		}
	}
	_ = a.answers(http.StatusUnauthorized)
	pass(4 * time.Minute)
	_ = a.answers(http.StatusOK) // renewed in time
	pass(10 * time.Minute)
	select {
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	default:
	}
	_ = a.answers(http.StatusUnauthorized)
	pass(5 * time.Minute)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "refused this manager's credentials (401) for 5m0s") {
			t.Errorf("got %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}

func TestCredentialsAreWatchedUntilTheManagerStops(t *testing.T) {
	a := newAPIServer(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := a.credentials.Start(ctx); err != nil || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if a.credentials.NeedLeaderElection() {
		t.Error("every replica has credentials")
	}
}
