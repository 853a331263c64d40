// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TrustDelay is how long a certificate of a new authority waits after the webhook
// configurations trust it: each API server takes up a changed configuration by its
// own watch, a moment after we see it.
const TrustDelay = 5 * time.Second

// Certificates brings the serving certificate from the Secret, where the rotator
// or cert-manager renews it, to the directory that the webhook server watches. It
// runs on every replica. In a cluster the directory is an emptyDir: a mounted
// Secret would lag behind by a minute or more, on each node by another.
//
// After the authority was renewed, a replica goes on serving its old certificate
// until the API server has been told to trust the new authority, so that no
// request is lost in between. A certificate that no client would accept is never
// taken up: the one before is kept, and the metrics and the log tell.
type Certificates struct {
	o       Options
	metrics *metrics

	once  sync.Once
	ready chan struct{}
	// served is what the directory holds.
	served atomic.Pointer[served]
	// trusted is since when the authority of the certificate that waits is trusted.
	trusted trustedSince
}

// served tells of the certificate in the directory.
type served struct {
	authority []byte
	expires   time.Time
}

// trustedSince is an authority, and when it was first seen to be trusted.
type trustedSince struct {
	authority []byte
	at        time.Time
}

// New makes what brings the certificate, and registers its metrics. It is an error when
// they are registered already.
func New(o Options) (*Certificates, error) {
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering the metrics: %w", err)
	}
	return &Certificates{o: o, metrics: m, ready: make(chan struct{})}, nil
}

// Ready is closed once a certificate lies in the directory.
func (c *Certificates) Ready() <-chan struct{} { return c.ready }

// Check is a readiness check: nil while there is a certificate to serve with.
func (c *Certificates) Check(*http.Request) error {
	now := c.served.Load()
	if now == nil {
		return fmt.Errorf("there is no serving certificate in secret %s yet", c.o.Secret)
	}
	if !c.o.Clock.Now().Before(now.expires) {
		return fmt.Errorf("the serving certificate has expired at %s: see why secret %s isn't renewed",
			now.expires.Format(time.RFC3339), c.o.Secret)
	}
	return nil
}

// Reconcile brings the directory in step with the Secret.
func (c *Certificates) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var secret corev1.Secret
	err := c.o.Reader.Get(ctx, c.o.Secret, &secret)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, c.missing(ctx)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading secret %s: %w", c.o.Secret, err)
	}
	if len(secret.Data[serverCertName]) == 0 || !secret.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	expires, err := servable(secret.Data, c.o.ServerName, c.o.Clock.Now())
	c.metrics.refused(err != nil)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("the certificate in secret %s can't be served, so it isn't taken up: %w",
			c.o.Secret, err)
	}
	trusted, wait, err := c.untilTrusted(ctx, secret.Data[caCertName])
	if err != nil || !trusted {
		return ctrl.Result{RequeueAfter: wait}, err // a change of the configuration brings us back, too
	}
	if err := writeCertDir(c.o.Dir, secret.Data); err != nil {
		return ctrl.Result{}, fmt.Errorf("secret %s: %w", c.o.Secret, err)
	}
	c.served.Store(&served{authority: secret.Data[caCertName], expires: expires})
	c.metrics.expires(expires)
	c.once.Do(func() { close(c.ready) })
	return ctrl.Result{}, nil
}

// untilTrusted says whether the API servers trust the authority by now, and else
// when to look again, zero for not before something changes. What has no valid
// certificate to go on with waits for nothing.
func (c *Certificates) untilTrusted(ctx context.Context, authority []byte) (bool, time.Duration, error) {
	if c.Check(nil) != nil {
		return true, 0, nil
	}
	bundles, err := c.o.Trusted(ctx)
	if err != nil {
		return false, 0, err
	}
	for _, bundle := range bundles {
		if !trusts(bundle, authority) {
			c.trusted = trustedSince{}
			return false, 0, nil
		}
	}
	if len(bundles) == 0 || bytes.Equal(c.served.Load().authority, authority) {
		return true, 0, nil
	}
	now := c.o.Clock.Now()
	if !bytes.Equal(c.trusted.authority, authority) {
		c.trusted = trustedSince{authority: authority, at: now}
	}
	wait := c.trusted.at.Add(TrustDelay).Sub(now)
	return wait <= 0, max(wait, 0), nil
}

// servable says when the certificate of a Secret expires, or why a client that
// trusts the authority beside it would refuse it under a name.
func servable(secret map[string][]byte, name string, now time.Time) (time.Time, error) {
	pair, err := tls.X509KeyPair(secret[serverCertName], secret[serverKeyName])
	if err != nil {
		return time.Time{}, fmt.Errorf("the certificate and key don't fit: %w", err)
	}
	authorities, between := x509.NewCertPool(), x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(secret[caCertName]) {
		return time.Time{}, fmt.Errorf("%s holds no certificate: use an issuer that gives its authority's", caCertName)
	}
	for _, der := range pair.Certificate[1:] {
		if cert, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(cert)
		}
	}
	_, err = pair.Leaf.Verify(
		x509.VerifyOptions{DNSName: name, Roots: authorities, Intermediates: between, CurrentTime: now})
	return pair.Leaf.NotAfter, err
}
