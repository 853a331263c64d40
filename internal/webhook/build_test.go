package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

type tree = map[string]any

// fakeNamespaces knows every namespace, unless it holds an error.
type fakeNamespaces struct{ err error }

func (f fakeNamespaces) Get(_ context.Context, name string) (map[string]any, error) {
	return tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": name}}, f.err
}

func newTestMetrics(t testing.TB) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// value reads one counter.
func value(t testing.TB, counter prometheus.Counter) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(counter)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

func newHandler(t testing.TB, class v1alpha1.FailurePolicy, c *catalog.Catalog) *Handler {
	t.Helper()
	metrics, _ := newTestMetrics(t)
	return &Handler{
		Reviews:    webhooktest.Reader(),
		Class:      class,
		Judge:      func() Judge { return c.Snapshot() },
		Namespaces: fakeNamespaces{},
		Metrics:    metrics,
		Clock:      clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		Log:        logr.Discard(),
	}
}

func ask(t testing.TB, h http.Handler, review tree) response {
	t.Helper()
	w := webhooktest.Post(h, webhooktest.Encode(t, review))
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP status %d: %s", w.Code, w.Body)
	}
	var out responseReview
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("the answer isn't JSON: %v", err)
	}
	if out.APIVersion != intake.APIVersion || out.Kind != intake.Kind || out.Response.UID != "705ab4f5" {
		t.Fatalf("the answer isn't an AdmissionReview of the same uid: %s", w.Body)
	}
	return out.Response
}

func denialMessage(t testing.TB, h http.Handler, body []byte) string {
	var out responseReview
	w := webhooktest.Post(h, body)
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Response.Status == nil {
		t.Errorf("no denial: %d %s", w.Code, w.Body)
		return ""
	}
	return out.Response.Status.Message
}

// gathered reads one counter or gauge.
func gathered(t testing.TB, collector prometheus.Collector) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	metric := families[0].GetMetric()[0]
	return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
}
