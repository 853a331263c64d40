// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// CredentialsGrace is how long the API server may refuse the manager's credentials
// before the manager ends: client-go reads a token that was renewed in its file
// within a minute by itself.
const CredentialsGrace = 5 * time.Minute

// Credentials watches whether the API server knows who this process is. A 401 is
// transient to whoever made the request, and would otherwise be tried again for
// ever, unseen: what is cached goes stale, and admission judges by old policies. So
// it is counted and logged, and when it lasts the process ends and says why: a new
// one reads its kubeconfig and token anew.
type Credentials struct {
	clock   clock.WithTicker
	grace   time.Duration
	log     logr.Logger
	refusal prometheus.Counter

	mu sync.Mutex
	// since is when the API server began to refuse; zero while it doesn't.
	since time.Time
}

// NewCredentials registers the metrics.
func NewCredentials(c clock.WithTicker, grace time.Duration, registerer prometheus.Registerer, log logr.Logger) (
	*Credentials, error) {
	w := &Credentials{clock: c, grace: grace, log: log}
	refusal, err := registerCredentials(registerer, func() bool { return w.refusedFor() > 0 })
	if err != nil {
		return nil, err
	}
	w.refusal = refusal
	return w, nil
}

// Watch sees the answers of a transport, as rest.Config.Wrap takes it.
func (w *Credentials) Watch(inner http.RoundTripper) http.RoundTripper {
	return watched{inner: inner, by: w}
}

type watched struct {
	inner http.RoundTripper
	by    *Credentials
}

func (t watched) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(r)
	if err == nil {
		t.by.answered(response.StatusCode)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (t watched) WrappedRoundTripper() http.RoundTripper { return t.inner }

// answered notes an answer. One of the server's own failures says nothing of who
// asks.
func (w *Credentials) answered(status int) {
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return
	}
	w.mu.Lock()
	was := w.since
	switch {
	case status != http.StatusUnauthorized:
		w.since = time.Time{}
	case was.IsZero():
		w.since = w.clock.Now()
	}
	w.mu.Unlock()
	switch {
	case status == http.StatusUnauthorized:
		w.refusal.Inc()
		if was.IsZero() {
			w.log.Error(nil, "The API server refuses this manager's credentials (401): its token has expired or was "+
				"revoked, or its ServiceAccount was recreated", "ends after", w.grace)
		}
	case !was.IsZero():
		w.log.Info("The API server takes this manager's credentials again", "refused since", was)
	}
}

// refusedFor is how long the API server has been refusing; 0 while it doesn't. A
// refusal counts as one from its first moment on.
func (w *Credentials) refusedFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return 0
	}
	return max(w.clock.Since(w.since), 1)
}

// NeedLeaderElection is false: every replica has credentials.
func (*Credentials) NeedLeaderElection() bool { return false }

// Start returns an error, which ends the manager, once the API server has refused
// for longer than the grace.
func (w *Credentials) Start(ctx context.Context) error {
	ticker := w.clock.NewTicker(w.grace / 10)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if refused := w.refusedFor(); refused >= w.grace {
				return fmt.Errorf("the API server has refused this manager's credentials (401) for %s: it ends, so "+
					"that a new one reads them again; "+
					"if that one is refused too, delete the Pod, or renew the kubeconfig", refused.Round(time.Second))
			}
		}
	}
}
