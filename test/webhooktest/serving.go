// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// Base is what an endpoint reads, counts and logs with, at a time that stands still.
func Base(t testing.TB, now time.Time) serving.Base {
	t.Helper()
	metrics, err := serving.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return serving.Base{Reviews: Reader(), Metrics: metrics, Clock: clocktesting.NewFakePassiveClock(now),
		Log: logr.Discard()}
}

// Ask is the answer to a review.
func Ask(t testing.TB, h http.Handler, review Tree) serving.Response {
	t.Helper()
	w := Post(h, Encode(t, review))
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP status %d: %s", w.Code, w.Body)
	}
	return answerIn(t, w)
}

// answerIn is the answer that was written. It must be to a review of Review's.
func answerIn(t testing.TB, w *httptest.ResponseRecorder) serving.Response {
	t.Helper()
	var out struct {
		APIVersion, Kind string
		Response         serving.Response
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("the answer isn't JSON: %v", err)
	}
	if out.APIVersion != serving.APIVersion || out.Kind != serving.Kind || out.Response.UID != "705ab4f5" {
		t.Fatalf("the answer isn't an AdmissionReview of the same uid: %s", w.Body)
	}
	return out.Response
}

// Patched lets the API server's part happen: it asks for a mutation and patches the object of the review.
func Patched(t testing.TB, h http.Handler, review Tree) Tree {
	t.Helper()
	got := Ask(t, h, review)
	if !got.Allowed {
		t.Fatalf("the mutation refuses: %v", got.Status)
	}
	request := review["request"].(Tree)
	if got.Patch == nil {
		return request["object"].(Tree)
	}
	patch, err := jsonpatch.DecodePatch(got.Patch)
	if err != nil || got.PatchType != "JSONPatch" {
		t.Fatalf("patch %s of type %q: %v", got.Patch, got.PatchType, err)
	}
	after, err := patch.Apply(Encode(t, request["object"]))
	if err != nil {
		t.Fatalf("patch %s: %v", got.Patch, err)
	}
	object := Tree{}
	if err := json.Unmarshal(after, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// Counted reads one series, by the values of its labels in the order of the labels' names.
func Counted(t testing.TB, from prometheus.Collector, name string, labels ...string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(from)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var has []string
			for _, label := range metric.GetLabel() {
				has = append(has, label.GetValue())
			}
			if family.GetName() == name && slices.Equal(has, labels) {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}
