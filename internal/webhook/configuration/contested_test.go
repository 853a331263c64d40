// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// contestedWriter is a writer whose configurations are there, with a clock.
func contestedWriter(t *testing.T) (*Writer, client.Client, *clocktesting.FakePassiveClock,
	*events.FakeRecorder) {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
		secretOf(webhooktest.NewAuthority(t, "evenkeel-ca", now.Add(-time.Hour)))).Build()
	w := newWriter(t, c, now, webhooktest.NewPolicy("a", webhooktest.PrivilegedRego))
	clock, recorder := clocktesting.NewFakePassiveClock(now), events.NewFakeRecorder(100)
	w.o.Clock, w.o.Events = clock, recorder
	webhooktest.Reconcile(t, w)
	return w, c, clock, recorder
}

// enforce changes the configuration as somebody else's controller would.
func enforce(t *testing.T, c client.Client, change func(*admissionregistrationv1.ValidatingWebhookConfiguration)) (
	resourceVersion string) {
	t.Helper()
	config := currentConfiguration(t, c)
	change(config)
	if err := c.Update(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	return config.ResourceVersion
}

// addExpression is what AKS's admissions enforcer does to every webhook.
func addExpression(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i := range config.Webhooks {
		s := config.Webhooks[i].NamespaceSelector
		s.MatchExpressions = append(s.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: "control-plane", Operator: metav1.LabelSelectorOpDoesNotExist})
	}
}

func TestWhatOnlyNarrowsIsKeptAndReported(t *testing.T) {
	w, c, _, recorder := contestedWriter(t)
	left := enforce(t, c, addExpression)
	for range 3 {
		if got := webhooktest.Reconcile(t, w); got.RequeueAfter != 0 {
			t.Errorf("looks again after %s", got.RequeueAfter)
		}
	}
	if got := currentConfiguration(t, c); got.ResourceVersion != left {
		t.Errorf("it was written again: %+v", got.Webhooks[0].NamespaceSelector)
	}
	if n := len(recorder.Events); n != 1 {
		t.Fatalf("%d events", n)
	}
	if got := <-recorder.Events; !strings.Contains(got, v1alpha1.EventWebhookNarrowed) ||
		!strings.Contains(got, names.WebhookFail+": namespaceSelector !control-plane") {
		t.Errorf("told %q", got)
	}
	if gauge(t, w.metrics, names.WebhookFail) != 1 {
		t.Error("the metric doesn't say so")
	}
	// A policy's change is written, and keeps it.
	w.o.Policies = func() []*v1alpha1.ClusterRegoPolicy {
		return []*v1alpha1.ClusterRegoPolicy{
			webhooktest.NewPolicy("a", webhooktest.PrivilegedRego,
				webhooktest.WithOperations(v1alpha1.OperationDelete))}
	}
	webhooktest.Reconcile(t, w)
	got := currentConfiguration(t, c).Webhooks[0]
	if got.Rules[0].Operations[0] != admissionregistrationv1.Delete ||
		!strings.Contains(metav1.FormatLabelSelector(got.NamespaceSelector), "!control-plane") {
		t.Errorf("got %v %v", got.Rules, got.NamespaceSelector)
	}
	// Once they take it off, it is gone.
	enforce(t, c, func(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for i := range config.Webhooks {
			s := config.Webhooks[i].NamespaceSelector
			s.MatchExpressions = s.MatchExpressions[:len(s.MatchExpressions)-1]
		}
	})
	webhooktest.Reconcile(t, w)
	if gauge(t, w.metrics, names.WebhookFail) != 0 {
		t.Error("the metric stays")
	}
}

// An entry that no policy needs any more is gone, and nobody narrows it.
func TestAnEntryThatGoesIsNarrowedNoMore(t *testing.T) {
	w, c, _, _ := contestedWriter(t)
	enforce(t, c, addExpression)
	webhooktest.Reconcile(t, w)
	if gauge(t, w.metrics, names.WebhookFail) != 1 {
		t.Fatal("the metric doesn't say that it is narrowed")
	}
	w.o.Policies = func() []*v1alpha1.ClusterRegoPolicy { return nil }
	webhooktest.Reconcile(t, w)
	if gauge(t, w.metrics, names.WebhookFail) != 0 {
		t.Error("the metric stays")
	}
}

func gauge(t *testing.T, m *metrics, webhook string) float64 {
	t.Helper()
	return testutil.ToFloat64(m.additions.WithLabelValues(webhook))
}

func TestSelectorsOfEarlierFlagsAreNotKept(t *testing.T) {
	w, c, _, _ := contestedWriter(t)
	w.o.Generator.ExemptNamespaces = []string{"another"}
	webhooktest.Reconcile(t, w)
	got := metav1.FormatLabelSelector(currentConfiguration(t, c).Webhooks[0].NamespaceSelector)
	if got != "kubernetes.io/metadata.name notin (another)" {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsNotANarrowingIsRestoredEverMoreSlowly(t *testing.T) {
	for name, fight := range map[string]func(*admissionregistrationv1.ValidatingWebhookConfiguration){
		"a selector of ours is taken off": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{}
		},
		"our own kinds are narrowed by object": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[len(c.Webhooks)-1].ObjectSelector = &metav1.LabelSelector{
				MatchLabels: map[string]string{"checked": "please"}}
		},
		"the failure policy is changed": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			ignore := admissionregistrationv1.Ignore
			c.Webhooks[0].FailurePolicy = &ignore
		},
		"an entry is taken off": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks = c.Webhooks[1:]
		},
		"an entry is added": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			strange := *c.Webhooks[0].DeepCopy()
			strange.Name = "strange.example.com"
			c.Webhooks = append(c.Webhooks, strange)
		},
		"what was applied is forgotten": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Annotations = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, c, clock, recorder := contestedWriter(t)
			right := currentConfiguration(t, c)
			writes := 0
			for end := clock.Now().Add(time.Hour); clock.Now().Before(end); {
				wrong := enforce(t, c, fight)
				result := webhooktest.Reconcile(t, w)
				if now := currentConfiguration(t, c); now.ResourceVersion != wrong {
					writes++
				} else if result.RequeueAfter == 0 {
					t.Fatal("it isn't restored, and not looked at again")
				}
				clock.SetTime(clock.Now().Add(max(result.RequeueAfter, time.Second)))
			}
			if writes < 10 || writes > 25 {
				t.Errorf("restored %d times in an hour of being changed without end", writes)
			}
			if len(recorder.Events) != writes ||
				testutil.ToFloat64(w.metrics.restored.WithLabelValues("validating")) != float64(writes) {
				t.Errorf("%d events for %d writes", len(recorder.Events), writes)
			}
			// Once they leave off, it is as it should be.
			clock.SetTime(clock.Now().Add(time.Hour))
			webhooktest.Reconcile(t, w)
			if got := currentConfiguration(t, c); len(got.Webhooks) != len(right.Webhooks) ||
				got.Annotations[annotationApplied] != right.Annotations[annotationApplied] {
				t.Errorf("left as %+v", got)
			}
		})
	}
}

func TestAPolicyIsInForceAtOnceInTheMidstOfAFight(t *testing.T) {
	w, c, _, _ := contestedWriter(t)
	empty := func(config *admissionregistrationv1.ValidatingWebhookConfiguration) { config.Webhooks = nil }
	for range 5 {
		enforce(t, c, empty)
		webhooktest.Reconcile(t, w)
	}
	w.o.Policies = func() []*v1alpha1.ClusterRegoPolicy {
		return []*v1alpha1.ClusterRegoPolicy{webhooktest.NewPolicy("a", webhooktest.PrivilegedRego),
			webhooktest.NewPolicy("b", webhooktest.PrivilegedRego,
				webhooktest.WithFailurePolicy(v1alpha1.FailurePolicyIgnore))}
	}
	webhooktest.Reconcile(t, w)
	if n := len(currentConfiguration(t, c).Webhooks); n != 11 {
		t.Errorf("%d entries", n)
	}
}
