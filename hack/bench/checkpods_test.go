// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
)

func TestYAMLHasBlocksAndWordsWithoutQuotes(t *testing.T) {
	got := yamlOf(map[string]any{"kind": "Pod", "spec": map[string]any{"hostPID": true, "none": map[string]any{},
		"containers": []any{map[string]any{"args": []any{"--a", "Always", "yes"}, "env": []any{}, "name": "c0"},
			map[string]any{"port": 80}}}, "a/b": "x: y"})
	want := `"a/b": "x: y"
kind: Pod
spec:
  containers:
    - args:
        - "--a"
        - Always
        - "yes"
      env: []
      name: "c0"
    - port: 80
  hostPID: true
  none: {}
`
	if got != want {
		t.Errorf("it is\n%s", got)
	}
}
