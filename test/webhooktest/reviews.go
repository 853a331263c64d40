// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"bytes"
	"net/http"
	"net/http/httptest"

	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// Review is the AdmissionReview of a Deployment, as the API server sends it.
func Review(operation string, object, old Tree, change ...func(Tree)) Tree {
	named := object
	if named == nil {
		named = old
	}
	request := Tree{
		"uid":       "705ab4f5",
		"kind":      Tree{"group": "apps", "version": "v1", "kind": "Deployment"},
		"resource":  Tree{"group": "apps", "version": "v1", "resource": "deployments"},
		"name":      named["metadata"].(Tree)["name"],
		"namespace": "shop",
		"operation": operation,
		"userInfo":  Tree{"username": "ann", "groups": []any{"developers"}},
		"object":    nil,
		"oldObject": nil,
		"dryRun":    false,
	}
	if object != nil {
		request["object"] = object
	}
	if old != nil {
		request["oldObject"] = old
	}
	for _, c := range change {
		c(request)
	}
	return Tree{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
}

// DryRun marks a request as one that is only tried.
func DryRun(request Tree) { request["dryRun"] = true }

// Reader has the bounds that ship.
func Reader() *serving.Reader {
	judged, _ := serving.NewReaders(256 << 20)
	return judged
}

// Post sends a review with the time that the API server has.
func Post(h http.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/validate/fail?timeout=5s", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
