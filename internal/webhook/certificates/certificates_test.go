// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/test/webhooktest"
)

var secretKey = types.NamespacedName{Namespace: "evenkeel-system", Name: "cert"}

// replica is a replica's certificates, over a Secret that a test writes.
type replica struct {
	*Certificates
	client client.Client
	clock  *clocktesting.FakePassiveClock
	dir    string
}

func newReplica(t *testing.T, now time.Time) *replica {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	clock, dir := clocktesting.NewFakePassiveClock(now), filepath.Join(t.TempDir(), "certs")
	certs, err := New(Options{
		Issuer: SelfSigned, Secret: secretKey, Dir: dir, ServerName: "localhost", Reader: c, Writer: c,
		Trusted:    func(context.Context) ([][]byte, error) { return nil, nil },
		Registerer: prometheus.NewRegistry(), Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &replica{Certificates: certs, client: c, clock: clock, dir: dir}
}

func TestCertificatesThatNobodyWouldAcceptAreNotTakenUp(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good, expired := webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-20*time.Hour)),
		webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-30*time.Hour))
	r := newReplica(t, now)
	webhooktest.Reconcile(t, r)
	good.Store(t, r.client, secretKey)
	webhooktest.Reconcile(t, r)
	if got, want := testutil.ToFloat64(r.metrics.expiry), float64(now.Add(4*time.Hour).Unix()); got != want {
		t.Errorf("the metric of the expiry is %v, want %v", got, want)
	}

	expired.Store(t, r.client, secretKey)
	_, err := r.Reconcile(context.Background(), ctrl.Request{})
	if err == nil || !strings.Contains(err.Error(), secretKey.String()) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("error %v, want it to name the Secret and the reason", err)
	}
	if !good.IsServedFrom(t, r.dir) || r.Check(nil) != nil || testutil.ToFloat64(r.metrics.unservable) != 1 {
		t.Error("the good certificate isn't kept, or the metric doesn't tell of the bad one")
	}

	r.clock.SetTime(now.Add(4 * time.Hour))
	if err := r.Check(nil); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("ready with an expired certificate: %v", err)
	}
	// Nothing is lost by an authority that isn't trusted yet: nobody believes the old.
	fresh := webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(3*time.Hour))
	fresh.Store(t, r.client, secretKey)
	webhooktest.Reconcile(t, r)
	if !fresh.IsServedFrom(t, r.dir) || r.Check(nil) != nil || testutil.ToFloat64(r.metrics.unservable) != 0 {
		t.Error("a fresh certificate doesn't take the place of the expired one")
	}
}
