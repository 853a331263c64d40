// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/internal/webhook/certificates"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// replica is a replica's certificates, over a Secret that a test writes.
type replica struct {
	*certificates.Certificates
	client client.Client
	clock  *clocktesting.FakePassiveClock
	dir    string
}

func newReplica(t *testing.T, now time.Time) *replica {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	clock, dir := clocktesting.NewFakePassiveClock(now), filepath.Join(t.TempDir(), "certs")
	certs, err := certificates.New(certificates.Options{
		Issuer: certificates.SelfSigned, Secret: secretKey, Dir: dir, ServerName: "localhost", Reader: c, Writer: c,
		Trusted:    func(ctx context.Context) ([][]byte, error) { return Trusted(ctx, c) },
		Registerer: prometheus.NewRegistry(), Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &replica{Certificates: certs, client: c, clock: clock, dir: dir}
}

// The certificate of a new authority isn't served before the API servers have been
// told to trust it.
func TestCertificatesWaitForTrust(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first, second := webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-20*time.Hour)),
		webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-time.Hour))
	r := newReplica(t, now)

	webhooktest.Reconcile(t, r) // makes the Secret
	webhooktest.Reconcile(t, r) // nothing in it yet
	if r.Check(nil) == nil {
		t.Fatal("ready without a certificate")
	}
	first.Store(t, r.client, secretKey)
	webhooktest.Reconcile(t, r)
	if r.Check(nil) != nil || !first.IsServedFrom(t, r.dir) {
		t.Fatal("the first certificate isn't served at once")
	}
	w := newWriter(t, r.client, now, webhooktest.NewPolicy("a", webhooktest.PrivilegedRego))
	webhooktest.Reconcile(t, w)

	second.Store(t, r.client, secretKey)
	webhooktest.Reconcile(t, r)
	if !first.IsServedFrom(t, r.dir) {
		t.Error("a certificate is served that the API server doesn't trust yet")
	}
	webhooktest.Reconcile(t, w)
	bundle := currentConfiguration(t, r.client).Webhooks[0].ClientConfig.CABundle
	if !bytes.Contains(bundle, first.Cert()) || !bytes.Contains(bundle, second.Cert()) {
		t.Error("during the rotation both authorities must be trusted")
	}
	stamping := currentStamps(t, r.client)
	both := stamping.Webhooks[0].ClientConfig.CABundle
	var result ctrl.Result
	for _, trusted := range [][]byte{first.Cert(), both} {
		stamping.Webhooks[0].ClientConfig.CABundle = trusted
		if err := r.client.Update(context.Background(), stamping); err != nil {
			t.Fatal(err)
		}
		result = webhooktest.Reconcile(t, r)
		if !first.IsServedFrom(t, r.dir) {
			t.Error("a certificate is served that one of two configurations doesn't trust yet, or not for long enough")
		}
	}
	if result.RequeueAfter != certificates.TrustDelay {
		t.Errorf("looks again after %s, want %s", result.RequeueAfter, certificates.TrustDelay)
	}
	r.clock.SetTime(now.Add(certificates.TrustDelay))
	webhooktest.Reconcile(t, r)
	if !second.IsServedFrom(t, r.dir) {
		t.Error("the new certificate isn't served though it's trusted")
	}
}

func TestCertificatesOfTheSameAuthorityAreServedAtOnce(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first := webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-time.Hour))
	r := newReplica(t, now)
	webhooktest.Reconcile(t, r)
	first.Store(t, r.client, secretKey)
	webhooktest.Reconcile(t, r)
	webhooktest.Reconcile(t, newWriter(t, r.client, now))

	renewed := first.Renewed(t, now)
	renewed.Store(t, r.client, secretKey)
	if result := webhooktest.Reconcile(t, r); result.RequeueAfter != 0 || !renewed.IsServedFrom(t, r.dir) {
		t.Errorf("looks again after %s instead of serving what is trusted for long", result.RequeueAfter)
	}
}
