// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"evenkeel.dev/evenkeel/internal/source/access"
)

// Options say where and how messages of a push are taken.
type Options struct {
	// Address is where to listen, for example :9292.
	Address string
	// CertDir holds tls.crt and tls.key, which may change at any time; empty for
	// plain HTTP, behind something that ends TLS.
	CertDir string
	// Allowed are the namespaces whose sources are accepted.
	Allowed access.Namespaces
	// ServiceAccount is the manager's own, <namespace>:<name>, for messages.
	ServiceAccount string
	// Clock is the time.
	Clock clock.PassiveClock
	// Metrics is where the figures are registered.
	Metrics prometheus.Registerer
}

// New makes the receiver.
func New(o Options) *Receiver {
	return &Receiver{options: o, allowed: o.Allowed, clock: o.Clock, all: rate.NewLimiter(everySecond, burst),
		underway: make(chan struct{}, maxUnderway), each: map[types.UID]*rate.Limiter{}}
}

// Register adds the receiver to the manager. It runs on every replica.
func (r *Receiver) Register(mgr ctrl.Manager) (err error) {
	if r.metrics, err = newMetrics(r.options.Metrics); err != nil {
		return err
	}
	r.client, r.log = mgr.GetClient(), mgr.GetLogger().WithName("receiver")
	r.secrets = access.Secrets{Reader: mgr.GetAPIReader(), Account: r.options.ServiceAccount}
	mux := http.NewServeMux()
	mux.Handle("POST "+HookPath+"/{namespace}/{name}", r)
	return mgr.Add(&hookServer{address: r.options.Address, certDir: r.options.CertDir, handler: mux})
}

// hookServer serves the receiver until the manager ends.
type hookServer struct {
	address, certDir string
	handler          http.Handler
}

// NeedLeaderElection is false: every replica answers.
func (*hookServer) NeedLeaderElection() bool { return false }

func (s *hookServer) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen for messages of a push: %w", err)
	}
	if listener, err = s.secured(ctx, listener); err != nil {
		return err
	}
	server := &http.Server{Handler: s.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("take messages of a push: %w", err)
	}
	return nil
}

// secured puts TLS before the listener if there is a certificate.
func (s *hookServer) secured(ctx context.Context, listener net.Listener) (net.Listener, error) {
	if s.certDir == "" {
		return listener, nil
	}
	watcher, err := certwatcher.New(filepath.Join(s.certDir, "tls.crt"), filepath.Join(s.certDir, "tls.key"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the receiver's certificate: %w", err), listener.Close())
	}
	go func() { _ = watcher.Start(ctx) }() // it ends with the context
	return tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: watcher.GetCertificate}),
		nil
}
