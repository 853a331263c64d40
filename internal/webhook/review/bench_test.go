// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// largeReview is a review of about 6 KB: a Deployment with 12 containers.
func largeReview(b *testing.B) []byte {
	object := webhooktest.Deployment("web", make([]bool, 12)...)
	annotations := tree{}
	for i := range 60 {
		annotations[fmt.Sprintf("example.com/note-%d", i)] = "a note of the usual length about something or other"
	}
	object["metadata"].(tree)["annotations"] = annotations
	return webhooktest.Encode(b, webhooktest.Review("CREATE", object, nil))
}

// BenchmarkHandler compares the handler with a no-op that only decodes the same
// review, for 1 and for 20 policies that match.
func BenchmarkHandler(b *testing.B) {
	body := largeReview(b)
	run := func(name string, h http.Handler) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if w := webhooktest.Post(h, body); w.Code != http.StatusOK {
					b.Fatalf("%d: %s", w.Code, w.Body)
				}
			}
		})
	}
	run("decode only", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := webhooktest.Reader().Read(r.Context(), w, r, time.Time{})
		if err != nil {
			b.Error(err)
			return
		}
		if err := serving.Write(w, serving.Response{UID: req.UID, Allowed: true}); err != nil {
			b.Error(err)
		}
	}))
	for _, n := range []int{1, 20} {
		var policies []*v1alpha1.ClusterRegoPolicy
		for i := range n {
			policies = append(policies, webhooktest.NewPolicy(fmt.Sprintf("p%d", i), webhooktest.PrivilegedRego))
		}
		run(fmt.Sprintf("%d policies", n),
			newHandler(b, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(b, policies...)))
	}
}
