// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
)

// ingressOf is an Ingress of a host as people write it, as JSON.
func ingressOf(namespace, name string, i int) string {
	return fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"namespace":%q,"name":%q,
		"uid":"8fb2b7a3-5f0e-4a0e-9d54-%012d","resourceVersion":"%d","creationTimestamp":"2026-01-01T00:00:00Z",
		"labels":{"app.kubernetes.io/name":"shop"},"annotations":{"nginx.ingress.kubernetes.io/rewrite-target":"/"},
		"managedFields":[{"manager":"kubectl","operation":"Update"}]},
		"spec":{"ingressClassName":"nginx","rules":[{"host":"shop-%d.example.com","http":{"paths":[{"path":"/",
		"pathType":"Prefix","backend":{"service":{"name":"shop","port":{"number":80}}}}]}}]}}`, namespace, name, i, i, i)
}

func serviceOf(namespace, name string, i int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":%q,"name":%q,
		"uid":"8fb2b7a3-5f0e-4a0e-9d54-%012d","resourceVersion":"%d","creationTimestamp":"2026-01-01T00:00:00Z",
		"labels":{"app.kubernetes.io/name":"shop","app.kubernetes.io/part-of":"shop"}},
		"spec":{"clusterIP":"10.0.0.%d","clusterIPs":["10.0.0.%d"],"internalTrafficPolicy":"Cluster",
		"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"name":"http","port":80,"protocol":"TCP",
		"targetPort":"http"}],"selector":{"app.kubernetes.io/name":"shop"},"sessionAffinity":"None",
		"type":"ClusterIP"},"status":{"loadBalancer":{}}}`, namespace, name, i, i, i%256, i%256)
}

// podOf is a Pod of about ten kilobytes.
func podOf(namespace, name string, i int) string {
	var containers []string
	for c := range 4 {
		var env []string
		for e := range 16 {
			env = append(env, fmt.Sprintf(`{"name":"VARIABLE_%d","valueFrom":{"configMapKeyRef":{"name":"settings-%d",
				"key":"key-%d"}}}`, e, i, e))
		}
		containers = append(containers, fmt.Sprintf(`{"name":"container-%d","image":"registry.example.com/shop:%d",
			"args":["--listen=:8080","--verbose"],"env":[%s],"ports":[{"containerPort":%d,"protocol":"TCP"}],
			"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m","memory":"128Mi"}},
			"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}},
			"volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"token",
			"readOnly":true}],
			"livenessProbe":{"httpGet":{"path":"/healthz","port":8080},"periodSeconds":10}}`, c, i, strings.Join(env, ","),
			8080+c))
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":%q,"name":%q,
		"uid":"8fb2b7a3-5f0e-4a0e-9d54-%012d","labels":{"app":"shop","pod-template-hash":"7d9c5b6f4"}},
		"spec":{"containers":[%s],"nodeName":"node-%d","serviceAccountName":"default"},
		"status":{"phase":"Running","podIP":"10.1.0.%d","conditions":[{"type":"Ready","status":"True"}]}}`,
		namespace, name, i, strings.Join(containers, ","), i%100, i%256)
}

func configMapOf(text int) func(namespace, name string, i int) string {
	return func(namespace, name string, i int) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":%q},"data":{"a":%q}}`,
			namespace, name, fmt.Sprintf("%*d", text, i))
	}
}

func read(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestBytesAreThoseOfTheHeap holds the estimate of what objects take to what they do take, with the view that
// rules see: it bounds the memory of the manager.
func TestBytesAreThoseOfTheHeap(t *testing.T) {
	cases := map[string]struct {
		reference Reference
		object    func(namespace, name string, i int) string
		objects   int
		spaces    int
	}{
		"Ingresses of which the host is kept": {Reference{Kind: "Ingress", Fields: []string{"spec.rules"}}, ingressOf,
			20_000, 100},
		"whole Ingresses": {Reference{Kind: "Ingress"}, ingressOf, 10_000, 100},
		"whole Services":  {Reference{Kind: "Service"}, serviceOf, 10_000, 100},
		"whole Pods":      {Reference{Kind: "Pod"}, podOf, 500, 10},
		"names":           {Reference{Kind: "Pod", Fields: []string{"metadata.name"}}, podOf, 2_000, 10},
		"names, each in its namespace": {Reference{Kind: "Service", Fields: []string{"metadata.name"}}, serviceOf,
			10_000, 10_000},
		"small ConfigMaps in one namespace": {Reference{Kind: "ConfigMap"}, configMapOf(1), 20_000, 1},
		"large ConfigMaps":                  {Reference{Kind: "ConfigMap"}, configMapOf(100_000), 200, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.reference.Selector = labels.Everything()
			before := heapInUse()
			table := NewTable(tc.reference, "v1")
			length := 0
			for i := range tc.objects {
				text := tc.object(fmt.Sprintf("namespace-%d", i%tc.spaces), fmt.Sprintf("object-%d", i), i)
				length = len(text)
				item, err := table.Compact(read(t, text))
				if err != nil {
					t.Fatal(err)
				}
				table.Put(item)
			}
			all := Join(table)
			view := all.View()
			took, told := heapInUse()-before, table.Bytes()
			t.Logf("%d bytes of JSON: %d bytes each in truth, %d told: %.2f", length, took/int64(tc.objects),
				told/int64(tc.objects), float64(told)/float64(took))
			if told < took*9/10 || told > took*5/4 { // docs/operate.md says so
				t.Errorf("%d bytes are told to be taken, %d are", told, took)
			}
			runtime.KeepAlive(view)
			runtime.KeepAlive(all)
		})
	}
}
