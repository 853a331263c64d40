// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

// replica is a replica's certificates, over a Secret that a test writes.
type replica struct {
	*Certificates
	client client.Client
	clock  *clocktesting.FakePassiveClock
}

func newReplica(t *testing.T, now time.Time) *replica {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	metrics, err := NewCertificateMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(now)
	return &replica{client: c, clock: clock, Certificates: &Certificates{
		reader: c, secret: secretKey, dir: filepath.Join(t.TempDir(), "certs"), serverName: "localhost",
		missing: func(ctx context.Context) error { return ensureSecret(ctx, c, secretKey) },
		metrics: metrics, clock: clock, ready: make(chan struct{}),
	}}
}

// offer puts a certificate into the Secret.
func (r *replica) offer(t *testing.T, a authority) {
	t.Helper()
	var secret corev1.Secret
	if err := r.client.Get(context.Background(), secretKey, &secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = a.data
	if err := r.client.Update(context.Background(), &secret); err != nil {
		t.Fatal(err)
	}
}

func (r *replica) serves(t *testing.T, a authority) bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, serverCertName))
	if err != nil {
		t.Fatal(err)
	}
	return string(content) == string(a.data[serverCertName])
}

// The certificate of a new authority isn't served before the API servers have been
// told to trust it.
func TestCertificatesWaitForTrust(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first, second := newAuthority(t, certificateAuthority, now.Add(-20*time.Hour)),
		newAuthority(t, certificateAuthority, now.Add(-time.Hour))
	r := newReplica(t, now)

	reconcileOnce(t, r) // makes the Secret
	reconcileOnce(t, r) // nothing in it yet
	if r.Check(nil) == nil {
		t.Fatal("ready without a certificate")
	}
	r.offer(t, first)
	reconcileOnce(t, r)
	if r.Check(nil) != nil || !r.serves(t, first) {
		t.Fatal("the first certificate isn't served at once")
	}
	w := newWriter(t, r.client, now, webhooktest.NewPolicy("a", webhooktest.PrivilegedRego))
	reconcileOnce(t, w)

	r.offer(t, second)
	reconcileOnce(t, r)
	if !r.serves(t, first) {
		t.Error("a certificate is served that the API server doesn't trust yet")
	}
	reconcileOnce(t, w)
	bundle := currentConfiguration(t, r.client).Webhooks[0].ClientConfig.CABundle
	if !trusts(bundle, first.cert()) || !trusts(bundle, second.cert()) {
		t.Error("during the rotation both authorities must be trusted")
	}
	stamping := currentStamps(t, r.client)
	both := stamping.Webhooks[0].ClientConfig.CABundle
	var result ctrl.Result
	for _, trusted := range [][]byte{first.cert(), both} {
		stamping.Webhooks[0].ClientConfig.CABundle = trusted
		if err := r.client.Update(context.Background(), stamping); err != nil {
			t.Fatal(err)
		}
		result = reconcileOnce(t, r)
		if !r.serves(t, first) {
			t.Error("a certificate is served that one of two configurations doesn't trust yet, or not for long enough")
		}
	}
	if result.RequeueAfter != trustSettles {
		t.Errorf("looks again after %s, want %s", result.RequeueAfter, trustSettles)
	}
	r.clock.SetTime(now.Add(trustSettles))
	reconcileOnce(t, r)
	if !r.serves(t, second) {
		t.Error("the new certificate isn't served though it's trusted")
	}
}

func TestCertificatesOfTheSameAuthorityAreServedAtOnce(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first := newAuthority(t, certificateAuthority, now.Add(-time.Hour))
	r := newReplica(t, now)
	reconcileOnce(t, r)
	r.offer(t, first)
	reconcileOnce(t, r)
	reconcileOnce(t, newWriter(t, r.client, now))

	renewed := first.renewed(t, now)
	r.offer(t, renewed)
	if result := reconcileOnce(t, r); result.RequeueAfter != 0 || !r.serves(t, renewed) {
		t.Errorf("looks again after %s instead of serving what is trusted for long", result.RequeueAfter)
	}
}

func TestCertificatesThatNobodyWouldAcceptAreNotTakenUp(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good, expired := newAuthority(t, certificateAuthority, now.Add(-20*time.Hour)),
		newAuthority(t, certificateAuthority, now.Add(-30*time.Hour))
	r := newReplica(t, now)
	reconcileOnce(t, r)
	r.offer(t, good)
	reconcileOnce(t, r)
	if got, want := testutil.ToFloat64(r.metrics.expiry), float64(now.Add(4*time.Hour).Unix()); got != want {
		t.Errorf("the metric of the expiry is %v, want %v", got, want)
	}

	r.offer(t, expired)
	_, err := r.Reconcile(context.Background(), theOne())
	if err == nil || !strings.Contains(err.Error(), secretKey.String()) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("error %v, want it to name the Secret and the reason", err)
	}
	if !r.serves(t, good) || r.Check(nil) != nil || testutil.ToFloat64(r.metrics.unservable) != 1 {
		t.Error("the good certificate isn't kept, or the metric doesn't tell of the bad one")
	}

	r.clock.SetTime(now.Add(4 * time.Hour))
	if err := r.Check(nil); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("ready with an expired certificate: %v", err)
	}
	// Nothing is lost by an authority that isn't trusted yet: nobody believes the old.
	fresh := newAuthority(t, certificateAuthority, now.Add(3*time.Hour))
	r.offer(t, fresh)
	reconcileOnce(t, r)
	if !r.serves(t, fresh) || r.Check(nil) != nil || testutil.ToFloat64(r.metrics.unservable) != 0 {
		t.Error("a fresh certificate doesn't take the place of the expired one")
	}
}
