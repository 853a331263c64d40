// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"net/http"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// podUpdate is the update of a Pod with three containers of twelve variables each and the managed fields that it has
// in production: a review of 11 KB.
func podUpdate(b *testing.B) []byte {
	var containers []any
	fields := tree{}
	for i := range 3 {
		var env []any
		for v := range 12 {
			name := fmt.Sprintf("SETTING_%d_%d", i, v)
			env = append(env, tree{"name": name, "value": "a value of the usual length"})
			fields[`k:{"name":"`+name+`"}`] = tree{".": tree{}, "f:name": tree{}, "f:value": tree{}}
		}
		containers = append(containers, tree{"name": fmt.Sprint("c", i), "image": "registry.example.com/shop/web:1.2.3",
			"env": env, "ports": []any{tree{"containerPort": 8080 + i, "protocol": "TCP"}},
			"resources": tree{"limits": tree{"cpu": "1", "memory": "512Mi"}}})
	}
	pod := tree{"apiVersion": "v1", "kind": "Pod", "spec": tree{"containers": containers},
		"metadata": tree{"name": "web", "namespace": "shop", "labels": tree{"app": "web"},
			"managedFields": []any{tree{"manager": "kube-controller-manager", "fieldsV1": fields}}}}
	return webhooktest.Encode(b, webhooktest.Review("UPDATE", pod, pod, func(r tree) {
		r["kind"] = tree{"group": "", "version": "v1", "kind": "Pod"}
		r["resource"] = tree{"group": "", "version": "v1", "resource": "pods"}
	}))
}

// BenchmarkPod is admission of the update of a large Pod, for 0 and for 31 policies that match.
func BenchmarkPod(b *testing.B) {
	body := podUpdate(b)
	for _, n := range []int{0, 31} {
		var policies []*v1alpha1.ClusterRegoPolicy
		for i := range n {
			policies = append(policies, webhooktest.NewPolicy(fmt.Sprintf("p%d", i), webhooktest.PrivilegedRego))
		}
		h := newHandler(b, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(b, policies...))
		b.Run(fmt.Sprintf("%d policies", n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if w := webhooktest.Post(h, body); w.Code != http.StatusOK {
					b.Fatalf("%d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
