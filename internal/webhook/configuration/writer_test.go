// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

var secretKey = types.NamespacedName{Namespace: "evenkeel-system", Name: "cert"}

func secretOf(a webhooktest.Authority) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretKey.Namespace, Name: secretKey.Name},
		Data: a.Data}
}

func newWriter(t *testing.T, c client.Client, now time.Time,
	policies ...*v1alpha1.ClusterRegoPolicy) *Writer {
	t.Helper()
	w, err := New(Options{
		Generator:  testGenerator(webhooktest.Kinds()),
		Policies:   func() []*v1alpha1.ClusterRegoPolicy { return policies },
		Prepared:   func() error { return nil },
		Reader:     c,
		Client:     c,
		Secret:     secretKey,
		Registerer: prometheus.NewRegistry(),
		Clock:      clocktesting.NewFakePassiveClock(now),
		Log:        logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func currentConfiguration(t *testing.T, c client.Client) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	if err := c.Get(context.Background(), types.NamespacedName{Name: names.Configuration}, &config); err != nil {
		t.Fatal(err)
	}
	return &config
}

func currentStamps(t *testing.T, c client.Client) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	var config admissionregistrationv1.MutatingWebhookConfiguration
	if err := c.Get(context.Background(), types.NamespacedName{Name: names.Configuration}, &config); err != nil {
		t.Fatal(err)
	}
	return &config
}

func TestConfigurationWriter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ca := webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-time.Hour))
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(secretOf(ca)).Build()
	w := newWriter(t, c, now, webhooktest.NewPolicy("a", webhooktest.PrivilegedRego))

	webhooktest.Reconcile(t, w)
	made := currentConfiguration(t, c)
	if len(made.Webhooks) != 10 || string(made.Webhooks[0].ClientConfig.CABundle) != string(ca.Cert()) {
		t.Fatalf("made %+v", made.Webhooks)
	}

	stamping := currentStamps(t, c)
	if len(stamping.Webhooks) != len(stamp.All()) ||
		string(stamping.Webhooks[0].ClientConfig.CABundle) != string(ca.Cert()) ||
		stamping.Labels[names.ManagedByLabel] != names.ManagedBy {
		t.Fatalf("made %+v", stamping)
	}

	webhooktest.Reconcile(t, w)
	if again := currentConfiguration(t, c); again.ResourceVersion != made.ResourceVersion {
		t.Error("nothing changed, but it was written again")
	}
	if again := currentStamps(t, c); again.ResourceVersion != stamping.ResourceVersion {
		t.Error("nothing changed, but the mutating one was written again")
	}
	if err := c.Delete(context.Background(), stamping); err != nil {
		t.Fatal(err)
	}
	webhooktest.Reconcile(t, w)
	if diff := cmp.Diff(stamping.Webhooks, currentStamps(t, c).Webhooks); diff != "" {
		t.Errorf("the mutating one was deleted and isn't made anew (-want +got)\n%s", diff)
	}

	drifted := made.DeepCopy()
	ignore := admissionregistrationv1.Ignore
	drifted.Webhooks[0].FailurePolicy = &ignore
	drifted.Annotations = map[string]string{"theirs": "kept"}
	if err := c.Update(context.Background(), drifted); err != nil {
		t.Fatal(err)
	}
	webhooktest.Reconcile(t, w)
	fixed := currentConfiguration(t, c)
	if diff := cmp.Diff(made.Webhooks, fixed.Webhooks); diff != "" || fixed.Annotations["theirs"] != "kept" {
		t.Errorf("drift isn't corrected (-want +got)\n%s", diff)
	}

	w.o.Policies = func() []*v1alpha1.ClusterRegoPolicy { return nil }
	webhooktest.Reconcile(t, w)
	if left := currentConfiguration(t, c).Webhooks; len(left) != 9 || left[0].Name != names.WebhookPolicies ||
		left[1].Name != names.WebhookTemplates || left[2].Name != names.WebhookWaivers ||
		left[3].Name != names.WebhookClusterWaivers || left[4].Name != names.WebhookStrategies ||
		left[5].Name != names.WebhookOverrides {
		t.Errorf("without policies there is left: %v", left)
	}
}

func TestConfigurationWriterWaits(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		prepared error
		secret   webhooktest.Authority
		want     time.Duration
	}{
		"until requests could be answered": {
			prepared: errors.New("not yet"), secret: webhooktest.NewAuthority(t, "evenkeel-ca", now),
			want: prepareRetry},
		"until there is an authority":        {want: 0},
		"without an authority in the Secret": {secret: webhooktest.Authority{Data: map[string][]byte{}}, want: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(secretOf(tc.secret)).Build()
			w := newWriter(t, c, now, webhooktest.NewPolicy("a", webhooktest.PrivilegedRego))
			w.o.Prepared = func() error { return tc.prepared }
			if got := webhooktest.Reconcile(t, w); got.RequeueAfter != tc.want {
				t.Errorf("looks again after %s, want %s", got.RequeueAfter, tc.want)
			}
			err := c.Get(context.Background(), types.NamespacedName{Name: names.Configuration},
				&admissionregistrationv1.ValidatingWebhookConfiguration{})
			if client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("a configuration was written, or: %v", err)
			}
		})
	}
}

func TestConfigurationWriterLooksAgain(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
		secretOf(webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-time.Hour)))).Build()
	w := newWriter(t, c, now,
		webhooktest.NewPolicy("a", webhooktest.PrivilegedRego, webhooktest.WithResources("example.com", "Widget")))
	asked := 0
	w.o.Generator.Kinds = discovery.NewKinds(func() (meta.RESTMapper, error) {
		asked++
		return webhooktest.Mapper(), nil
	})
	for range 2 {
		if got := webhooktest.Reconcile(t, w); got.RequeueAfter != unknownKindRetry {
			t.Errorf("a kind that isn't served is looked up again after %s, want %s", got.RequeueAfter,
				unknownKindRetry)
		}
	}
	if asked != 2 {
		t.Errorf("the cluster was asked %d times, want each time: an aggregated API may answer by now", asked)
	}
}

// What replicas go on serving must stay trusted, whatever becomes of the Secret.
func TestConfigurationWriterKeepsWhatIsTrusted(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good, other := webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-time.Hour)),
		webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-time.Hour))
	cases := map[string]map[string][]byte{
		"when the Secret is emptied": {},
		"when the Secret holds a pair of different parents": {
			"ca.crt": other.Cert(), "tls.crt": good.Data["tls.crt"],
			"tls.key": good.Data["tls.key"]},
		"when the Secret's certificate has expired": webhooktest.NewAuthority(
			t, "evenkeel-ca", now.Add(-48*time.Hour)).Data,
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(secretOf(good)).Build()
			w := newWriter(t, c, now)
			webhooktest.Reconcile(t, w)
			if err := c.Update(context.Background(), secretOf(webhooktest.Authority{Data: data})); err != nil {
				t.Fatal(err)
			}
			w.o.Policies = func() []*v1alpha1.ClusterRegoPolicy {
				return []*v1alpha1.ClusterRegoPolicy{webhooktest.NewPolicy("a", webhooktest.PrivilegedRego)}
			}
			webhooktest.Reconcile(t, w)
			hooks := currentConfiguration(t, c).Webhooks
			if len(hooks) != 10 {
				t.Fatalf("%d webhooks, want the new policy's beside the nine of our own kinds", len(hooks))
			}
			if got := string(hooks[0].ClientConfig.CABundle); got != string(good.Cert()) {
				t.Errorf("trusted is now %q", got)
			}
		})
	}
}
