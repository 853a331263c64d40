// SPDX-License-Identifier: Apache-2.0

package jsonvalue_test

import (
	"encoding/json"
	"fmt"
	"testing"

	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/internal/webhook/intake/jsonvalue"
)

// pod is as large as one with three containers is in production, with the managed fields that it has.
func pod() []byte {
	var containers []any
	fields := map[string]any{}
	for i := range 3 {
		var env []any
		for v := range 12 {
			name := fmt.Sprintf("SETTING_%d_%d", i, v)
			env = append(env, map[string]any{"name": name, "value": "a value of the usual length"})
			fields[`k:{"name":"`+name+`"}`] = map[string]any{".": map[string]any{}, "f:name": map[string]any{},
				"f:value": map[string]any{}}
		}
		containers = append(containers, map[string]any{"name": fmt.Sprint("c", i),
			"image": "registry.example.com/shop/web:1.2.3", "env": env,
			"ports":     []any{map[string]any{"containerPort": 8080 + i, "protocol": "TCP"}},
			"resources": map[string]any{"limits": map[string]any{"cpu": "1", "memory": "512Mi"}}})
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod",
		"spec": map[string]any{"containers": containers},
		"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{"app": "web"},
			"managedFields": []any{map[string]any{"manager": "kube-controller-manager", "fieldsV1": fields}}}})
	if err != nil {
		panic(err)
	}
	return text
}

func BenchmarkObject(b *testing.B) {
	text, decoder := pod(), &jsonvalue.Decoder{}
	for name, decode := range map[string]func() (map[string]any, error){
		"jsonvalue": func() (map[string]any, error) { return decoder.Object(text) },
		"sigs.k8s.io-json": func() (out map[string]any, err error) {
			return out, kjson.UnmarshalCaseSensitivePreserveInts(text, &out)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
