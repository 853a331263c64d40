// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"encoding/json"
	"testing"
)

// Tree is an object as JSON has it.
type Tree = map[string]any

// Deployment has one container for each flag, privileged where it is true.
func Deployment(name string, privileged ...bool) Tree {
	var containers []any
	for i, on := range privileged {
		containers = append(containers, Tree{
			"name":            string(rune('a' + i)),
			"image":           "registry.example.com/app:1.2.3",
			"securityContext": Tree{"privileged": on},
		})
	}
	return Tree{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   Tree{"name": name, "namespace": "shop"},
		"spec": Tree{
			"replicas": int64(2),
			"template": Tree{
				"metadata": Tree{"labels": Tree{"app": name}},
				"spec":     Tree{"containers": containers},
			},
		},
	}
}

// Set changes one field of an object.
func Set(object Tree, value any, path ...string) Tree {
	at := object
	for _, field := range path[:len(path)-1] {
		at = at[field].(Tree)
	}
	at[path[len(path)-1]] = value
	return object
}

// Encode is a value as JSON.
func Encode(t testing.TB, value any) []byte {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
