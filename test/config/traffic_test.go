// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/fixture"
)

// traffic asks for admission without a pause, by several clients, and counts the
// answers. Beside them it connects to the webhook anew all the time, believing
// whom the API server believes: the API server itself keeps its connections open,
// so that it alone would seldom see a new certificate.
type traffic struct {
	denied, allowed, connections atomic.Int64
	// served is the certificate that the latest connection saw.
	served atomic.Pointer[x509.Certificate]

	mu     sync.Mutex
	errors []string

	end     context.CancelFunc
	running sync.WaitGroup
}

// startTraffic starts clients that end with the container, or by stop.
func startTraffic(ctx context.Context) *traffic {
	GinkgoHelper()
	t := &traffic{}
	ctx, t.end = context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(t.stop)
	for n := range 3 {
		t.loop(ctx, func() { t.violate(ctx, fmt.Sprintf("bad-%d", n)) })
		t.loop(ctx, func() { t.comply(ctx, fmt.Sprintf("good-%d", n)) })
	}
	t.loop(ctx, func() { t.connect(ctx) })
	return t
}

// loop goes on until the traffic ends, with room between for other work.
func (t *traffic) loop(ctx context.Context, ask func()) {
	t.running.Go(func() {
		pause := time.NewTicker(20 * time.Millisecond)
		defer pause.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-pause.C:
				ask()
			}
		}
	})
}

func (t *traffic) stop() {
	t.end()
	t.running.Wait()
}

func (t *traffic) violate(ctx context.Context, name string) {
	err := api.Create(ctx, fixture.Deployment("certified", name), client.DryRunAll)
	if err != nil && strings.Contains(err.Error(), "label team is missing") {
		t.denied.Add(1)
		return
	}
	t.lose(ctx, "a violator", err)
}

func (t *traffic) comply(ctx context.Context, name string) {
	good := fixture.Deployment("certified", name)
	good.Spec.Template.Labels["team"] = "core"
	err := api.Create(ctx, good, client.DryRunAll)
	if err == nil {
		t.allowed.Add(1)
		return
	}
	t.lose(ctx, "an object that complies", err)
}

// connect shakes hands as the API server would.
func (t *traffic) connect(ctx context.Context) {
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	if err := api.Get(ctx, client.ObjectKey{Name: "evenkeel"}, &config); err != nil {
		t.lose(ctx, "the configuration", err)
		return
	}
	at := config.Webhooks[0].ClientConfig
	address, err := url.Parse(*at.URL)
	if err != nil {
		t.lose(ctx, "the webhook's address", err)
		return
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(at.CABundle)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: address.Hostname()}}
	conn, err := dialer.DialContext(ctx, "tcp", address.Host)
	if err != nil {
		t.lose(ctx, "a connection", err)
		return
	}
	t.served.Store(conn.(*tls.Conn).ConnectionState().PeerCertificates[0])
	t.connections.Add(1)
	_ = conn.Close() // nothing was sent
}

// lose notes an answer that wasn't right, unless the traffic has ended.
func (t *traffic) lose(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, fmt.Sprintf("%s: %v", what, err))
}

func (t *traffic) lost() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errors
}

// awaitServed waits until new connections see the certificate of the Secret, and
// some requests more have been answered.
func (t *traffic) awaitServed(ctx context.Context) {
	GinkgoHelper()
	block, _ := pem.Decode(secret(ctx, servingSecret).Data["tls.crt"])
	Eventually(ctx, func() bool {
		served := t.served.Load()
		return served != nil && bytes.Equal(served.Raw, block.Bytes)
	}).Should(BeTrue(), "the new certificate isn't served")
	denied, allowed := t.denied.Load(), t.allowed.Load()
	Eventually(ctx, func() bool {
		return t.denied.Load() > denied+10 && t.allowed.Load() > allowed+10
	}).Should(BeTrue())
	Expect(t.lost()).To(BeEmpty())
}

// String are the figures.
func (t *traffic) String() string {
	return fmt.Sprintf("%d denied, %d allowed, %d new connections, %d lost", t.denied.Load(), t.allowed.Load(),
		t.connections.Load(), len(t.lost()))
}
