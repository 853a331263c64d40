// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// trustSettles is how long a certificate of a new authority waits after the webhook
// configurations trust it: each API server takes up a changed configuration by its
// own watch, a moment after we see it.
const trustSettles = 5 * time.Second

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
	reader client.Reader
	secret types.NamespacedName
	dir    string
	// serverName is the name that the API server expects in the certificate.
	serverName string
	// missing is asked for the Secret when there is none.
	missing func(context.Context) error
	metrics *CertificateMetrics
	clock   clock.PassiveClock

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

// Ready is closed once a certificate lies in the directory.
func (c *Certificates) Ready() <-chan struct{} { return c.ready }

// Check is a readiness check: nil while there is a certificate to serve with.
func (c *Certificates) Check(*http.Request) error {
	now := c.served.Load()
	if now == nil {
		return fmt.Errorf("there is no serving certificate in secret %s yet", c.secret)
	}
	if !c.clock.Now().Before(now.expires) {
		return fmt.Errorf("the serving certificate has expired at %s: see why secret %s isn't renewed",
			now.expires.Format(time.RFC3339), c.secret)
	}
	return nil
}

// Reconcile brings the directory in step with the Secret.
func (c *Certificates) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var secret corev1.Secret
	err := c.reader.Get(ctx, c.secret, &secret)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, c.missing(ctx)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading secret %s: %w", c.secret, err)
	}
	if len(secret.Data[serverCertName]) == 0 || !secret.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	expires, err := servable(secret.Data, c.serverName, c.clock.Now())
	c.metrics.refused(err != nil)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("the certificate in secret %s can't be served, so it isn't taken up: %w",
			c.secret, err)
	}
	trusted, wait, err := c.untilTrusted(ctx, secret.Data[caCertName])
	if err != nil || !trusted {
		return ctrl.Result{RequeueAfter: wait}, err // a change of the configuration brings us back, too
	}
	if err := writeCertDir(c.dir, secret.Data); err != nil {
		return ctrl.Result{}, fmt.Errorf("secret %s: %w", c.secret, err)
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
	found, err := readConfigurations(ctx, c.reader)
	if err != nil {
		return false, 0, err
	}
	bundles := found.trusted()
	for _, bundle := range bundles {
		if !trusts(bundle, authority) {
			c.trusted = trustedSince{}
			return false, 0, nil
		}
	}
	if len(bundles) == 0 || bytes.Equal(c.served.Load().authority, authority) {
		return true, 0, nil
	}
	now := c.clock.Now()
	if !bytes.Equal(c.trusted.authority, authority) {
		c.trusted = trustedSince{authority: authority, at: now}
	}
	wait := c.trusted.at.Add(trustSettles).Sub(now)
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

// ensureSecret makes the Secret, empty, unless it is there.
func ensureSecret(ctx context.Context, writer client.Writer, key types.NamespacedName) error {
	err := writer.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace,
		Name:      key.Name,
		Labels:    map[string]string{names.ManagedByLabel: names.ManagedBy},
	}})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the namespace %s doesn't exist: create it first, it holds the webhook's certificate: %w",
			key.Namespace, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("grant the permission to create secrets in namespace %s: %w", key.Namespace, err)
	default:
		return fmt.Errorf("making secret %s: %w", key, err)
	}
}

// errNoAuthority means that nobody has made an authority yet.
var errNoAuthority = errors.New("the certificate authority isn't made yet")
