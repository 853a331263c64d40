// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/hack/bench/own/internal/servetest"
)

func TestWhateverIsAskedIsAdmitted(t *testing.T) {
	answer := servetest.Answer(t, serve,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"it"}}`)
	if !strings.Contains(answer, `"uid":"it","allowed":true`) {
		t.Errorf("it answers %s", answer)
	}
}
