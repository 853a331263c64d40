// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// fakeNamespaces knows every namespace, unless it holds an error.
type fakeNamespaces struct{ err error }

func (f fakeNamespaces) Get(_ context.Context, name string) (map[string]any, error) {
	return tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": name}}, f.err
}

func newHandler(t testing.TB, class v1alpha1.FailurePolicy, c *catalog.Catalog) *Handler {
	t.Helper()
	verdicts, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return &Handler{
		Base:       webhooktest.Base(t, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		Class:      class,
		Judge:      func() Judge { return c.Snapshot() },
		Namespaces: fakeNamespaces{},
		Verdicts:   verdicts,
	}
}

func denialMessage(t testing.TB, h http.Handler, body []byte) string {
	var out struct{ Response serving.Response }
	w := webhooktest.Post(h, body)
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Response.Status == nil {
		t.Errorf("no denial: %d %s", w.Code, w.Body)
		return ""
	}
	return out.Response.Status.Message
}
